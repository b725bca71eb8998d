import { TRADING_SELECTORS } from '../core/chains/diamond-functions.js';
import type { SentTransaction } from '../core/ports/relayer.js';
import type { Recalled } from '../core/ports/stores/lane-recovery.js';
import type { RelayJob } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';

export interface Addresses {
  readonly wallet: Address;
  readonly diamond: Address;
}

/** A transaction that the database has forgotten, with the job that it was sent for; null if that is forgotten too. */
export interface Match {
  readonly transaction: SentTransaction;
  readonly job: RelayJob | null;
}

const SELECTOR_END = 10;

/** Only a relayer makes such calls: the wallet's other transactions come from other programs. */
export const isTradingCall = ({ to, input }: SentTransaction, { diamond }: Addresses): boolean =>
  to === diamond.toLowerCase() && TRADING_SELECTORS.has(input.slice(0, SELECTOR_END).toLowerCase());

/** Only uses up its nonce. */
export const isNoOpSent = ({ to, input }: SentTransaction, { wallet }: Addresses): boolean => to === wallet && input === '0x';

/** As it is stored with its job. */
export function recalledOf(transaction: SentTransaction, addresses: Addresses, signedAt: number): Recalled {
  const { nonce, hash, raw, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  const isNoOp = isNoOpSent(transaction, addresses);
  return { nonce, attempt: { isNoOp, hash, raw: raw ?? '0x', maxFeePerGas, maxPriorityFeePerGas, signedAt } };
}

/**
 * Each transaction is of at most one job, and each job of at most one transaction. First those of the same nonce: a higher fee, or a no-op
 * in the place of a call. Then those of the same bytes, the oldest job first: its nonce is forgotten, or was given to it anew.
 */
export function matchTransactions(transactions: readonly SentTransaction[], jobs: readonly RelayJob[], addresses: Addresses): Match[] {
  const free = new Set([...jobs].sort((a, b) => Number(a.id - b.id)));
  const matched = new Map<SentTransaction, RelayJob>();

  function matchBy(isSame: (job: RelayJob, transaction: SentTransaction) => boolean): void {
    for (const transaction of transactions.filter((each) => !matched.has(each))) {
      const job = [...free].find((each) => isSame(each, transaction));
      if (job === undefined) continue;
      free.delete(job);
      matched.set(transaction, job);
    }
  }

  const hasBytes = (job: RelayJob, { to, input }: SentTransaction): boolean =>
    job.purpose !== 'no-op' && to === addresses.diamond.toLowerCase() && input.toLowerCase() === job.data.toLowerCase();
  matchBy((job, sent) => job.nonce === sent.nonce && (hasBytes(job, sent) || isNoOpSent(sent, addresses)));
  matchBy((job, sent) => job.attempts.length === 0 && hasBytes(job, sent));
  return transactions.map((transaction) => ({ transaction, job: matched.get(transaction) ?? null }));
}
