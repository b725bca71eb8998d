import type { BrowserContext } from 'playwright-core';
import { createPublicClient, createWalletClient, defineChain, http, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

export interface WalletOptions {
  readonly name?: string;
  /** Default a new key without funds. */
  readonly privateKey?: Hex;
  /** The chain that the wallet is on when the page opens. */
  readonly chainId?: number;
  /** Nodes by chain id: where transactions go. One that the page adds takes the place of the chain's. */
  readonly nodes: ReadonlyMap<number, string>;
  /** Chains that the wallet can switch to; others are answered with 4902 until they are added. Default all of `nodes`. */
  readonly knows?: readonly number[];
}

export interface TestWallet {
  readonly address: Hex;
  /** Every method that was asked for, in order. */
  readonly asked: string[];
  /** The nodes that the page has offered, in order. */
  readonly offered: readonly string[];
  /** The person refuses the next request of this method: 4001. */
  refuseNext(method: string): void;
  chainId(): number;
  /** The user chooses another node of a chain; no page gets an event. */
  useNode(chainId: number, url: string): void;
}

/** As EIP-1193 wants it. */
const refusal = (code: number, message: string): Error => Object.assign(new Error(message), { code });
const codeOf = (error: unknown): number =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : INTERNAL;

const INTERNAL = -32603;
const ETHEREUM = 1;
const USER_REFUSED = 4001;
const UNKNOWN_CHAIN = 4902;
const UNSUPPORTED = 4200;

interface Asked {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** Announced by EIP-6963 in every page of the context. The key stays outside the browser. Call it before the page is opened. */
export async function installWallet(context: BrowserContext, options: WalletOptions): Promise<TestWallet> {
  const { name = 'Test wallet', privateKey = generatePrivateKey() } = options;
  const nodes = new Map(options.nodes);
  const account = privateKeyToAccount(privateKey);
  const known = new Set(options.knows ?? nodes.keys());
  const refused = new Set<string>();
  const asked: string[] = [];
  const offered: string[] = [];
  let chainId = options.chainId ?? ETHEREUM;
  let isConnected = false;

  const clientsOf = () => {
    const url = nodes.get(chainId);
    if (url === undefined) throw refusal(UNSUPPORTED, `The test wallet has no node for chain ${chainId}.`);
    const chain = defineChain({
      id: chainId,
      name: `chain ${chainId}`,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [url] } },
    });
    return {
      signer: createWalletClient({ account, chain, transport: http(url) }),
      node: createPublicClient({ chain, transport: http(url) }),
    };
  };

  const switchTo = (wanted: number): null => {
    if (!known.has(wanted)) throw refusal(UNKNOWN_CHAIN, `Unrecognized chain ID "0x${wanted.toString(16)}".`);
    chainId = wanted;
    return null;
  };

  const answer = async ({ method, params = [] }: Asked): Promise<unknown> => {
    asked.push(method);
    if (refused.delete(method)) throw refusal(USER_REFUSED, 'User rejected the request.');
    const [first, second] = params;
    switch (method) {
      case 'eth_requestAccounts':
        isConnected = true;
        return [account.address];
      case 'eth_accounts':
        return isConnected ? [account.address] : [];
      case 'eth_chainId':
        return `0x${chainId.toString(16)}`;
      case 'wallet_switchEthereumChain':
        return switchTo(Number((first as { chainId: string }).chainId));
      case 'wallet_addEthereumChain': {
        const { chainId: added, rpcUrls } = first as { chainId: string; rpcUrls: readonly string[] };
        known.add(Number(added));
        offered.push(...rpcUrls);
        if (rpcUrls[0] !== undefined) nodes.set(Number(added), rpcUrls[0]);
        return null;
      }
      case 'personal_sign':
        return account.signMessage({ message: { raw: first as Hex } });
      case 'eth_signTypedData_v4': {
        const typed = JSON.parse(String(second)) as Parameters<typeof account.signTypedData>[0] & { domain: { chainId?: unknown } };
        // As MetaMask does: what is signed for another chain than the wallet's is refused.
        const wanted = Number(typed.domain.chainId ?? chainId);
        if (wanted !== chainId) throw refusal(INTERNAL, `Provided chainId "${wanted}" must match the active chainId "${chainId}".`);
        return account.signTypedData(typed);
      }
      case 'eth_sendTransaction': {
        const { to, data, value, gas, chainId: wanted } = first as { to: Hex; data?: Hex; value?: Hex; gas?: Hex; chainId?: Hex };
        if (Number(wanted) !== chainId) throw refusal(INTERNAL, `The transaction names chain ${wanted}; the wallet is on ${chainId}.`);
        const amount = value === undefined ? {} : { value: BigInt(value) };
        return clientsOf().signer.sendTransaction({ to, ...(data && { data }), ...amount, ...(gas && { gas: BigInt(gas) }) });
      }
      default:
        return clientsOf().node.request({ method, params } as never);
    }
  };

  await context.exposeFunction('testWalletRequest', async (request: Asked) => {
    try {
      return { result: await answer(request) };
    } catch (error) {
      return { error: { code: codeOf(error), message: error instanceof Error ? error.message : String(error) } };
    }
  });
  await context.addInitScript(ANNOUNCE.replace('WALLET_NAME', JSON.stringify(name)));
  return {
    address: account.address,
    asked,
    offered,
    refuseNext: (method) => void refused.add(method),
    chainId: () => chainId,
    useNode: (id, url) => void nodes.set(id, url),
  };
}

/** Runs in the page: a provider that hands every request to the wallet outside, and announces itself whenever a page asks. */
const ANNOUNCE = `(() => {
  const listeners = new Map();
  const emit = (event, value) => (listeners.get(event) ?? []).forEach((listener) => listener(value));
  const provider = {
    async request(asked) {
      const { result, error } = await window.testWalletRequest(asked);
      if (error) throw Object.assign(new Error(error.message), { code: error.code });
      if (asked.method === 'wallet_switchEthereumChain') emit('chainChanged', asked.params[0].chainId);
      if (asked.method === 'eth_requestAccounts') emit('accountsChanged', result);
      return result;
    },
    on: (event, listener) => void listeners.set(event, [...(listeners.get(event) ?? []), listener]),
    removeListener: (event, listener) => void listeners.set(event, (listeners.get(event) ?? []).filter((one) => one !== listener)),
  };
  const info = { uuid: '6b3f1f2e-7c0a-4d21-9a4e-0d7f5a1c2b3d', name: WALLET_NAME, rdns: 'test.wallet', icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>' };
  const announce = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
  window.addEventListener('eip6963:requestProvider', announce);
  announce();
})();`;
