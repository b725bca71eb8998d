import { readFileSync } from 'node:fs';
import { Wallet } from 'ethers';
import { approvalBody, approvalTypedData, connectionId, signedAction, type Packable } from '../../web/connect/l1-action.js';
import { agentFromKey } from '../../client/src/agent.js';
import { approveAgent, signL1 } from '../harness/hyperliquid/exchange.js';
import type { Hex } from '../../core/types.js';

interface Vector {
  readonly id: string;
  readonly scheme: string;
  readonly action: Packable;
  readonly nonce: number;
  readonly vaultAddress?: string | null;
  readonly expiresAfter?: number | null;
  readonly expected?: { readonly hash?: string };
}

const KEY: Hex = '0x0123456789012345678901234567890123456789012345678901234567890123';
const wallet = new Wallet(KEY);
const vectors = (JSON.parse(readFileSync(new URL('../facade/signing-vectors.json', import.meta.url), 'utf8')) as readonly Vector[]).filter(
  ({ scheme, vaultAddress, expiresAfter, expected }) =>
    scheme === 'l1' && !vaultAddress && expiresAfter == null && expected?.hash !== undefined,
);

describe('what the page signs for the Hyperliquid API', () => {
  it('has vectors to be compared with', () => expect(vectors.length).toBeGreaterThan(2));

  it.each(vectors)('$id: has the hash of its client', ({ action, nonce, expected }) => {
    expect(connectionId(action, nonce)).toBe(expected?.hash);
  });

  it.each([true, false])('is what another library signs, on a testnet: %p', async (isTestnet) => {
    const action = {
      type: 'order',
      orders: [{ a: 0, b: true, p: '60000', s: '0.1', r: false, t: { limit: { tif: 'Ioc' } } }],
      grouping: 'na',
    };
    const nonce = 1_800_000_000_123;
    const other = await signL1(wallet, action, { nonce, source: isTestnet ? 'b' : 'a' });
    expect(await signedAction(KEY, action, nonce, isTestnet)).toEqual(other);
  });

  it('is the approval that another library signs', async () => {
    const approval = {
      agent: '0x00000000000000000000000000000000000000Aa',
      name: 'desk',
      nonce: 1_800_000_000_124,
      chainId: 421_614,
      isTestnet: true,
    } as const;
    const signature = await agentFromKey(KEY).signTypedData(approvalTypedData(approval));
    const other = await approveAgent(wallet, approval.agent.toLowerCase(), 'desk', {
      network: 'Testnet',
      nonce: approval.nonce,
      signatureChainId: '0x66eee',
    });
    expect(approvalBody(approval, signature)).toEqual(other);
  });
});
