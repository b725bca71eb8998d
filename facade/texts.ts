import type { NonceVerdict } from '../core/access/signer-nonces.js';
import type { ErrorDetails } from '../core/errors.js';

/** A contract wallet has no key, and these signatures have no field for an EIP-1271 signature. */
const NO_CONTRACT_WALLETS =
  'A contract wallet cannot sign in this form: it registers its agent at the native API (POST /v1/{chain}/agents).';

/** Texts that clients compare literally. Our additions come after them. */
export const TEXTS = {
  unknownSigner: (address: string) => `User or API Wallet ${address} does not exist.`,
  noAccount: (address: string) => `Must deposit before performing actions. User: ${address}`,
  unrecoverable: `Unable to recover signer. ${NO_CONTRACT_WALLETS}`,
  noContracts: NO_CONTRACT_WALLETS,
  expired: 'Action already expired',
  vault: (address: string) => `Vault not registered: ${address}`,
  overWeight: 'Signed action over weight limit of 200.',
  notAllowed: (address: string) => `Trading is not allowed for user ${address} by the operator of this service.`,
  agentUsed: 'Extra agent already used.',
  tooManyAgents: (most: number) => `Too many extra agents for cumulative volume traded. Current limit is ${most}`,
  agentExpired: 'Agent valid_until already expired.',
  scheduledTooSoon: 'Scheduled cancel time must be at least 5 seconds ahead.',
  scheduledTooLate: 'Scheduled cancel time must be at most 7 days ahead.',
} as const;

export function nonceText(nonce: bigint, verdict: Exclude<NonceVerdict, { kind: 'taken' }>): string {
  if (verdict.kind === 'duplicate') return `Invalid nonce: duplicate nonce ${nonce}`;
  if (verdict.kind === 'too-low') return `Invalid nonce: nonce too low ${nonce} < ${verdict.least}`;
  return `Invalid nonce: nonce too high ${nonce} > ${verdict.most}`;
}

/** Names the address to delegate to: the last word of the call data. */
export function notDelegatedText({ trader, delegate, delegationTx }: ErrorDetails<'AGENT_NOT_DELEGATED'>): string {
  const relayer = `0x${delegationTx.data.slice(-40)}`;
  return `The trading delegate of ${trader} is ${delegate ?? 'not set'}: let the trader send setTradingDelegate(${relayer}) first; delegationTx is that transaction.`;
}
