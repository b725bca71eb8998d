import { createHash } from 'node:crypto';
import { keccak256, parseTransaction, recoverAddress, serializeTransaction } from 'viem/utils';
import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Refusal, RelayJob, RelayStore, SignedAction } from '../core/ports/stores/relay.js';
import type { Address, Hex } from '../core/types.js';
import { doubtOf, refusalOf, type PolicySettings } from './policy.js';

/** Decides from the signed actions which jobs of a wallet may be signed. */
export interface JobCheck {
  /** Before a job gets its nonce: null if it may be begun. */
  begin(job: RelayJob, action: SignedAction | null): Promise<Refusal | null>;
  /**
   * Before each signature of its call: null if it may be signed under its nonce. A job that passed here before and is still the same is not
   * checked again; any other is, with its action as it is stored now.
   */
  sign(job: RelayJob): Promise<Refusal | null>;
  forgetAllBut(ids: readonly bigint[]): void;
}

export interface JobCheckOptions {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly wallet: Address;
  readonly store: Pick<RelayStore, 'action'>;
  readonly settings: PolicySettings;
  /** Called for a job that its signed action does not explain. */
  readonly onForged?: ((job: RelayJob, refusal: Refusal) => Promise<void>) | undefined;
}

/** A job that passed. */
interface Passed {
  /** Of all that was checked: a changed row must be checked again. */
  readonly digest: string;
  /** The nonce under which it was first signed here. */
  readonly nonce: number | null;
}

const NOT_ITS_NONCE: Refusal = { reason: 'policy', note: 'it was signed under another nonce before' };
const NOT_OURS: Refusal = { reason: 'policy', note: 'it is a job of another wallet' };

export function createJobCheck({ definition, wallet, store, settings, onForged }: JobCheckOptions): JobCheck {
  const passed = new Map<bigint, Passed>();

  async function judged(job: RelayJob, judge: () => Promise<Refusal | null>): Promise<Refusal | null> {
    const refusal = job.chain === definition.slug && job.wallet === wallet ? await judge() : NOT_OURS;
    if (refusal?.reason === 'policy' || refusal?.reason === 'gas-cap') await onForged?.(job, refusal);
    return refusal;
  }

  /** The attempts that the key really signed: only they are proof of what was allowed before. */
  async function signedAttempts(job: RelayJob): Promise<readonly { readonly nonce: number; readonly data: Hex }[]> {
    const read = await Promise.all(job.attempts.map(({ raw }) => attemptIn(raw, definition, wallet)));
    return read.filter((attempt) => attempt !== null);
  }

  async function refusalToSign(job: RelayJob): Promise<Refusal | null> {
    const before = await signedAttempts(job);
    if (before.some(({ nonce }) => nonce !== job.nonce)) return NOT_ITS_NONCE;
    const action = job.parent === null ? null : await store.action(definition.slug, job.parent);
    if (!before.some(({ data }) => data === job.data.toLowerCase())) return refusalOf(job, action, settings);
    // What was signed once may be mined in any case: neither rules nor what changed since stop a higher fee for the same call.
    const doubt = await doubtOf(job, action, settings);
    return doubt?.reason === 'outdated' ? null : doubt;
  }

  return {
    async begin(job, action) {
      const refusal = await judged(job, () => refusalOf(job, action, settings));
      if (refusal === null) passed.set(job.id, { digest: digestOf(job), nonce: null });
      return refusal;
    },
    async sign(job) {
      const digest = digestOf(job);
      const known = passed.get(job.id);
      const isUnchanged = known?.digest === digest;
      const hasItsNonce = (known?.nonce ?? job.nonce) === job.nonce;
      const judge = (): Promise<Refusal | null> => (hasItsNonce ? refusalToSign(job) : Promise.resolve(NOT_ITS_NONCE));
      const refusal = isUnchanged && hasItsNonce ? null : await judged(job, judge);
      if (refusal === null) passed.set(job.id, { digest, nonce: job.nonce });
      return refusal;
    },
    forgetAllBut(ids) {
      const kept = new Set(ids);
      for (const id of passed.keys()) if (!kept.has(id)) passed.delete(id);
    },
  };
}

/** The call, for whom it is and what was shown to prove it. The witness, its context, is left out: it proves this call or none. */
const digestOf = ({ chain, wallet, trader, purpose, parent, data, gas }: RelayJob): string =>
  createHash('sha256').update([chain, wallet, trader, purpose, parent, gas, data].join(' ')).digest('base64');

/** A transaction of the wallet to the Diamond; null for anything else, which proves nothing. */
async function attemptIn(
  raw: Hex,
  { diamond, chainId }: ChainDefinition,
  wallet: Address,
): Promise<{ readonly nonce: number; readonly data: Hex } | null> {
  try {
    const { r, s, yParity, type, to, nonce = 0, data = '0x', ...others } = parseTransaction(raw);
    if (type !== 'eip1559' || others.chainId !== chainId || to?.toLowerCase() !== diamond.toLowerCase()) return null;
    if (r === undefined || s === undefined || (yParity !== 0 && yParity !== 1)) return null;
    const { gas, value, maxFeePerGas, maxPriorityFeePerGas } = others;
    const unsigned = { type, chainId, to, nonce, data, gas, value, maxFeePerGas, maxPriorityFeePerGas } as const;
    const signer = await recoverAddress({ hash: keccak256(serializeTransaction(unsigned)), signature: { r, s, yParity } });
    return signer.toLowerCase() === wallet ? { nonce, data } : null;
  } catch {
    return null;
  }
}
