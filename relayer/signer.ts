import type { ChainDefinition } from '../core/chains/chains.js';
import type { Attempt, Refusal, RelayJob } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';
import type { Fees, FeeSettings } from './fees.js';
import type { JobCheck } from './job-check.js';
import type { PolicySettings } from './policy.js';
import type { Unsigned, Wallet } from './wallet.js';

/** A wallet's key behind its check: all that can be had signed is a job's call that passed, and a no-op. */
export interface Signer {
  readonly address: Address;
  /** The call of a job under its nonce, or why it is not what may be signed. */
  sign(job: RelayJob, fees: Fees): Promise<Signed | Refusal>;
  /** The transfer of nothing from the wallet to itself, which only uses up a nonce. */
  signNoOp(nonce: number, fees: Fees): Promise<Signed>;
}

/** The check itself failed, as while the database is away: nothing is known about the job, and nothing about the key. */
export class CheckError extends Error {
  override readonly name = 'CheckError';
}

export type Signed = Pick<Attempt, 'hash' | 'raw'>;

/** Gas of a no-op that only uses up a nonce. */
export const NO_OP_GAS = 100_000n;

/** Nothing is signed while it is not known whether the database lost commits, or what they were. */
export class HeldError extends CheckError {}

export function requireNotHeld(held: () => string | null): void {
  const reason = held();
  if (reason !== null) throw new HeldError(reason);
}

interface SignerOptions {
  readonly wallet: Wallet;
  readonly definition: Pick<ChainDefinition, 'chainId' | 'diamond'>;
  readonly settings: FeeSettings & Pick<PolicySettings, 'isUncertain'>;
  readonly check: Pick<JobCheck, 'sign'>;
  /** Why nothing may be signed; null or absent: it may. */
  readonly held?: (() => string | null) | undefined;
}

/** The one place where a relayer's key is used. Chain, recipient and value come from no row; neither does more than the cap of the fees. */
export function createSigner({ wallet, definition, settings, check, held = () => null }: SignerOptions): Signer {
  const { chainId, diamond } = definition;

  function requireChecked(): void {
    if (settings.isUncertain?.() === true) throw new CheckError('the contract changed and is being checked');
  }

  async function signWithin(transaction: Omit<Unsigned, 'chainId'>): Promise<Signed> {
    const { maxFeePerGas, maxPriorityFeePerGas, nonce } = transaction;
    if (maxFeePerGas > settings.maxFeePerGas || maxPriorityFeePerGas > maxFeePerGas)
      throw new RangeError(`a fee of ${maxFeePerGas} is above the cap`);
    requireNotHeld(held);
    if (!Number.isSafeInteger(nonce) || nonce < 0) throw new RangeError(`${nonce} is no nonce`);
    return wallet.sign({ chainId, ...transaction });
  }

  return {
    address: wallet.address,
    async sign(job, { maxFeePerGas, maxPriorityFeePerGas }) {
      const { nonce, data, gas } = job;
      if (nonce === null) throw new Error(`Relay job ${job.id} has no nonce.`);
      requireChecked();
      // Nothing of the row is read after the check but what was checked.
      const refusal = await check.sign(job).catch((error: unknown) => Promise.reject(new CheckError('not checked', { cause: error })));
      if (refusal !== null) return refusal;
      // The change may have been seen meanwhile.
      requireChecked();
      return signWithin({ nonce, to: diamond, data, gas, maxFeePerGas, maxPriorityFeePerGas });
    },
    signNoOp: (nonce, { maxFeePerGas, maxPriorityFeePerGas }) =>
      signWithin({ nonce, to: wallet.address, data: '0x', gas: NO_OP_GAS, maxFeePerGas, maxPriorityFeePerGas }),
  };
}
