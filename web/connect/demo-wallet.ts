import { agentFromKey, newAgentKey, type TypedData } from '@diamond-gateway/client/agent';
import type { Hex } from '@diamond-gateway/client/api';
import type { ChainFacts } from '@diamond-gateway/client/chains';
import { createSender } from '@diamond-gateway/client/send-transaction';
import { request } from '../api/request.js';
import type { FoundWallet, Provider } from './wallets.js';

/** In the sandbox only: wallets that live in this page. What they sign is not confirmed, because nothing they hold is worth anything. */

export interface SandboxFacts {
  readonly chains: readonly {
    readonly chain: string;
    readonly chainId: number;
    readonly rpcUrl: string;
    readonly collaterals: readonly { readonly symbol: string; readonly address: Hex; readonly decimals: number }[];
  }[];
  readonly accounts: readonly { readonly role: string; readonly address: Hex; readonly privateKey: Hex }[];
}

const NEW_WALLET_NOTE = 'Holds nothing. Its key is made in this tab and gone with it.';
const OFFERED = [
  { role: 'trader', name: 'Demo trader', note: 'Ready on the native API. The examples use it, so a new delegate stops their agent.' },
  { role: 'hl-trader', name: 'Hyperliquid demo trader', note: 'Ready on the Hyperliquid API. The examples use it as well.' },
] as const;

/** One request to the sandbox's node, through the gateway: a page reaches no other port. */
export async function sandboxRpc(chain: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await request<{ result: unknown }>('/sandbox/rpc', { method: 'POST', body: { chain, method, params } });
  if (answer.ok) return answer.data.result;
  throw Object.assign(new Error(answer.problem.message), { code: -32000 });
}

export function demoWallets({ accounts }: SandboxFacts, chain: string, facts: ChainFacts): FoundWallet[] {
  const offer = (id: string, name: string, note: string, key: Hex): FoundWallet => ({
    id,
    name,
    icon: null,
    provider: providerOf(key, chain, facts),
    demo: { note },
  });
  const known = OFFERED.flatMap(({ role, name, note }) => {
    const account = accounts.find((one) => one.role === role);
    return account === undefined ? [] : [offer(`demo ${role}`, name, note, account.privateKey)];
  });
  return [offer('demo new', 'New empty wallet', NEW_WALLET_NOTE, newAgentKey()), ...known];
}

function providerOf(key: Hex, chain: string, facts: ChainFacts): Provider {
  const signer = agentFromKey(key);
  const rpc = (method: string, params: readonly unknown[]): Promise<unknown> => sandboxRpc(chain, method, params);
  const sender = createSender(rpc, signer, facts, {});
  return {
    request({ method, params = [] }) {
      switch (method) {
        case 'eth_requestAccounts':
        case 'eth_accounts':
          return Promise.resolve([signer.address]);
        case 'eth_chainId':
          return Promise.resolve(`0x${facts.chainId.toString(16)}`);
        case 'eth_signTypedData_v4':
          return signer.signTypedData(JSON.parse(String(params[1])) as TypedData);
        case 'eth_sendTransaction': {
          const { to, data = '0x', value } = params[0] as { to: Hex; data?: Hex; value?: Hex };
          if (value !== undefined) return Promise.reject(new Error('A demo wallet sends no native coins: use the faucet.'));
          return sender.send({ to, data, value: '0', chainId: facts.chainId, gas: null, expiresAt: 0 });
        }
        default:
          return rpc(method, params);
      }
    },
  };
}
