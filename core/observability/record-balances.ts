import type { Gateway, Venue } from '../gateway.js';
import type { Address, Cancel } from '../types.js';

/** The balance of an hour is thus at most this old when the hour ends. */
const RECORD_MS = 300_000;

/** Records the balance of every relayer wallet for the operator's chart. Every replica does: the latest reading of an hour is kept. */
export function recordBalances(gateway: Gateway): Cancel {
  const recordAll = (): void => {
    for (const venue of gateway.venues.values()) for (const wallet of venue.relayer?.wallets() ?? []) void record(gateway, venue, wallet);
  };
  recordAll();
  return gateway.clock.every(RECORD_MS, recordAll);
}

/** An hour without an answer of a node stays without a balance. */
async function record({ store, clock, log, stopping }: Gateway, { definition: { slug }, chain }: Venue, wallet: Address): Promise<void> {
  try {
    const balanceWei = await chain.nativeBalance(wallet);
    await store.gas.recordBalance(slug, wallet, { at: clock.now(), balanceWei });
  } catch (error) {
    if (!stopping.aborted) log.warn('relay.balance-not-recorded', { chain: slug, wallet, error });
  }
}
