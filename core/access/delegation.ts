import { encodeFunctionData, parseAbi } from 'viem/utils';
import { createOnce, createSharedReads } from '../caching/shared-reads.js';
import { fromNode } from '../ports/chain.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { WRITE_FUNCTIONS } from '../chains/diamond-functions.js';
import type { ChainDefinition } from '../chains/chains.js';
import type { TransactionRequest } from '../errors.js';

/** The contract emits no event when a delegate changes, so a cached read expires after this time. */
export const DELEGATE_MAX_AGE_MS = 10_000;
/** Cache size per venue. */
export const MAX_REMEMBERED_DELEGATES = 10_000;

const reads = createOnce(({ clock }: Venue) =>
  createSharedReads<Address, Address | null>(clock, { maxAgeMs: DELEGATE_MAX_AGE_MS, max: MAX_REMEMBERED_DELEGATES }),
);

const ask = ({ chain }: Venue, trader: Address): Promise<Address | null> => fromNode(chain.delegateOf(trader));

/** The trader's delegate on chain, at most ten seconds old. Concurrent callers share one read. */
export const currentDelegate = (venue: Venue, trader: Address): Promise<Address | null> =>
  reads(venue).get(trader, () => ask(venue, trader));

/** The delegate from a new read, for decisions that must not use cached data. A read in flight is not reused, because it started before the call. */
export const freshDelegate = (venue: Venue, trader: Address): Promise<Address | null> =>
  reads(venue).keep(trader, ask(venue, trader)).answer;

/**
 * The delegate, where the caller expects `wanted`. A cached match is used; a cached mismatch is read again, because the trader may just have
 * sent the transaction. Concurrent callers share the read.
 */
export async function delegateFor(venue: Venue, trader: Address, wanted: Address): Promise<Address | null> {
  const known = reads(venue).last(trader);
  const isUnderWay = known?.isDone === false;
  const delegate = await currentDelegate(venue, trader);
  if (delegate === wanted || known === undefined || isUnderWay) return delegate;
  const latest = reads(venue).last(trader);
  return latest === undefined || latest === known ? freshDelegate(venue, trader) : latest.answer;
}

/** The last delegate a node reported, however old; for journal events that must be described while no node answers. */
export async function lastKnownDelegate(venue: Venue, trader: Address): Promise<Address | null> {
  const known = reads(venue).last(trader);
  return known?.isDone === true ? known.answer : null;
}

/** Drops the cached delegate, for example after a transaction of the trader was seen. */
export function forgetDelegate(venue: Venue, trader: Address): void {
  reads(venue).forget(trader);
}

const abi = parseAbi([WRITE_FUNCTIONS.setTradingDelegate.signature, WRITE_FUNCTIONS.removeTradingDelegate.signature]);

/** Transactions that only the trader's own wallet can send. */
export const delegationTx = ({ diamond, chainId }: ChainDefinition, delegate: Address): TransactionRequest => ({
  to: diamond,
  data: encodeFunctionData({ abi, functionName: 'setTradingDelegate', args: [delegate] }),
  chainId,
});

export const revocationTx = ({ diamond, chainId }: ChainDefinition): TransactionRequest => ({
  to: diamond,
  data: encodeFunctionData({ abi, functionName: 'removeTradingDelegate' }),
  chainId,
});
