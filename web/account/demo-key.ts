import { privateKeyToAccount } from 'viem/accounts';
import { request, type Answer } from '../api/request.js';

/** In the sandbox only: its demo traders are public, so the page may sign for one of them and read its account. */

export const DEMO_TRADERS = { trader: 'native demo trader', 'hl-trader': 'Hyperliquid demo trader' } as const;
export type DemoTrader = keyof typeof DEMO_TRADERS;

interface SandboxAccounts {
  readonly accounts: readonly { readonly role: string; readonly address: `0x${string}`; readonly privateKey: `0x${string}` }[];
}

interface ChainInfo {
  readonly serverTime: number;
  readonly signing: {
    readonly domain: {
      readonly name: string;
      readonly version: string;
      readonly chainId: number;
      readonly verifyingContract: `0x${string}`;
    };
    readonly masterTypes: Readonly<Record<string, { readonly key: readonly { readonly name: string; readonly type: string }[] }>>;
  };
}

const DAY_MS = 86_400_000;
const LABELS = 16;

/** A read-only key of that trader, which ends after a day. */
export async function demoKey(base: string, role: DemoTrader): Promise<Answer<{ readonly apiKey: string }>> {
  const [sandbox, chain] = await Promise.all([request<SandboxAccounts>('/sandbox'), request<ChainInfo>(base)]);
  if (!sandbox.ok) return sandbox;
  if (!chain.ok) return chain;
  const demo = sandbox.data.accounts.find((account) => account.role === role);
  if (demo === undefined) return { ok: false, problem: { ...UNKNOWN, message: `The sandbox has no account ${role}.` } };
  const { domain, masterTypes } = chain.data.signing;
  const timestamp = chain.data.serverTime;
  // A key of the same label is replaced, and another tab may be using it: few labels keep the keys few, several keep most tabs apart.
  const label = `page ${((crypto.getRandomValues(new Uint8Array(1))[0] ?? 0) % LABELS).toString(16)}`;
  const expiresAt = timestamp + DAY_MS;
  const signature = await privateKeyToAccount(demo.privateKey).signTypedData({
    domain,
    types: { ApiKeyIssue: [...(masterTypes['ApiKeyIssue']?.key ?? [])] },
    primaryType: 'ApiKeyIssue',
    message: { label, timestamp: BigInt(timestamp), expiresAt: BigInt(expiresAt) },
  });
  return request<{ apiKey: string }>(`${base}/api-keys`, {
    method: 'POST',
    body: { trader: demo.address, label, timestamp, expiresAt, signature },
  });
}

const UNKNOWN = { status: 0, code: 'NOT_FOUND', details: {}, requestId: null, retryAfterSeconds: null } as const;
