import { describeClockGap, type ErrorDetails, type TransactionRequest } from '../core/errors.js';
import type { NonceVerdict } from '../core/access/signer-nonces.js';

/** The status of one item, in the order of the items. */
export type ItemStatus =
  | { readonly error: string }
  | { readonly resting: { readonly oid: number; readonly cloid?: string } }
  | { readonly filled: { readonly totalSz: string; readonly avgPx: string; readonly oid: number; readonly cloid?: string } }
  | 'success'
  | 'waitingForFill'
  | 'waitingForTrigger';

/** The reply to an action, always with HTTP 200. Clients ignore unknown fields, so we may add our own. */
export type ExchangeReply =
  | {
      readonly status: 'ok';
      readonly response: { readonly type: string; readonly data?: unknown };
      /** The transaction the trader has to send before the agent can trade; null if it would change nothing. */
      readonly delegationTx?: TransactionRequest | null;
    }
  | { readonly status: 'err'; readonly response: string; readonly delegationTx?: TransactionRequest };

export const DONE: ExchangeReply = { status: 'ok', response: { type: 'default' } };

export const refused = (response: string): ExchangeReply => ({ status: 'err', response });

/** `cancel` for cancels of any kind, `order` for orders and for changes in batches. */
export const statuses = (type: 'order' | 'cancel', items: readonly ItemStatus[]): ExchangeReply => ({
  status: 'ok',
  response: { type, data: { statuses: items } },
});

/** A contract wallet has no key, and these signatures have no field for an EIP-1271 signature. */
const NO_CONTRACT_WALLETS =
  'A contract wallet cannot sign in this form: it registers its agent at the native API (POST /v1/{chain}/agents).';

/** Texts that clients compare literally. Our additions come after them. */
export const TEXTS = {
  unknownSigner: (address: string) => `User or API Wallet ${address} does not exist.`,
  noAccount: (address: string) => `Must deposit before performing actions. User: ${address}`,
  unrecoverable: `Unable to recover signer. ${NO_CONTRACT_WALLETS}`,
  noContracts: NO_CONTRACT_WALLETS,
  expired: (expiresAfter: number, now: number) => `Action already expired. Its expiresAfter ${describeClockGap(expiresAfter, now)}`,
  vault: (address: string) => `Vault not registered: ${address}`,
  overWeight: 'Signed action over weight limit of 200.',
  notAllowed: (address: string) => `Trading is not allowed for user ${address} by the operator of this service.`,
  agentUsed: 'Extra agent already used.',
  tooManyAgents: (most: number) => `Too many extra agents for cumulative volume traded. Current limit is ${most}`,
  agentExpired: 'Agent valid_until already expired.',
  scheduledTooSoon: (time: number, now: number) =>
    `Scheduled cancel time must be at least 5 seconds ahead.${clockHint('The time', BigInt(time), now)}`,
  scheduledTooLate: 'Scheduled cancel time must be at most 7 days ahead.',
} as const;

/** Hyperliquid's window of nonces is days wide, so a smaller difference is no reason for a refusal. */
const CLOCK_DOUBT_MS = 30_000n;
const MAX_TIME = BigInt(Number.MAX_SAFE_INTEGER);

/** What the client's clock has to do with a refusal; empty where it agrees with ours. */
function clockHint(subject: string, time: bigint, now: number): string {
  const gap = time - BigInt(now);
  if (gap < CLOCK_DOUBT_MS && gap > -CLOCK_DOUBT_MS) return '';
  return time > MAX_TIME ? ` ${subject} is no time in milliseconds, now ${now}.` : ` ${subject} ${describeClockGap(Number(time), now)}`;
}

export function nonceText(nonce: bigint, verdict: Exclude<NonceVerdict, { kind: 'taken' }>, now: number): string {
  if (verdict.kind === 'duplicate') return `Invalid nonce: duplicate nonce ${nonce}`;
  const hint = clockHint('The nonce', nonce, now);
  const end = hint === '' ? '' : `.${hint}`;
  if (verdict.kind === 'too-low') return `Invalid nonce: nonce too low ${nonce} < ${verdict.least}${end}`;
  return `Invalid nonce: nonce too high ${nonce} > ${verdict.most}${end}`;
}

/** Names the address to delegate to: the last word of the call data. */
export function notDelegatedText({ trader, delegate, delegationTx }: ErrorDetails<'AGENT_NOT_DELEGATED'>): string {
  const relayer = `0x${delegationTx.data.slice(-40)}`;
  return `The trading delegate of ${trader} is ${delegate ?? 'not set'}: let the trader send setTradingDelegate(${relayer}) first; delegationTx is that transaction.`;
}
