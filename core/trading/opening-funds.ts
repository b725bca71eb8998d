import { LRUCache } from 'lru-cache';
import { fromNode } from '../ports/chain.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';

/** A trader's balance of a collateral, and the Diamond's allowance of it. */
export interface Funds {
  readonly balance: bigint;
  readonly allowance: bigint;
  /** The database's time before the chain was read. */
  readonly readAt: number;
}

interface Asked {
  readonly funds: Promise<Funds>;
  readonly at: number;
  readonly readAt: number;
}

/** Orders prepared since a reading are counted against it, so a cached one never allows more; a deposit is seen by the second reading. */
const KEPT_MS = 1_000;
const MOST_KEPT = 10_000;

const known = new WeakMap<Venue, LRUCache<string, Asked>>();

/** From the chain, cached for KEPT_MS, so that bots with many requests a second cause one reading. */
export function knownFunds(venue: Venue, trader: Address, token: Address, askedAt: number): Promise<Funds> {
  const last = lastAsked(venue, trader, token);
  if (last && isRecent(venue, last)) return last.funds;
  return keep(venue, trader, token, { funds: readFunds(venue, trader, token, askedAt), readAt: askedAt });
}

const isRecent = ({ clock }: Venue, { at }: Asked): boolean => Math.abs(clock.now() - at) < KEPT_MS;

const keptFor = (venue: Venue): LRUCache<string, Asked> => {
  const kept = known.get(venue) ?? new LRUCache<string, Asked>({ max: MOST_KEPT });
  known.set(venue, kept);
  return kept;
};

const keyOf = (trader: Address, token: Address): string => `${trader} ${token}`;
const lastAsked = (venue: Venue, trader: Address, token: Address): Asked | undefined => keptFor(venue).get(keyOf(trader, token));

function keep(venue: Venue, trader: Address, token: Address, given: Omit<Asked, 'at'>): Promise<Funds> {
  const [kept, key] = [keptFor(venue), keyOf(trader, token)];
  const asked: Asked = { ...given, at: venue.clock.now() };
  kept.set(key, asked);
  asked.funds.catch(() => kept.get(key) === asked && kept.delete(key));
  return asked.funds;
}

/** Read again after cached figures were insufficient. Openings of one action share any reading made `since`. Both times are the database's. */
export function freshFunds(
  venue: Venue,
  trader: Address,
  token: Address,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<Funds> {
  const last = lastAsked(venue, trader, token);
  if (last && last.readAt > since && isRecent(venue, last)) return last.funds;
  return keep(venue, trader, token, { funds: readFunds(venue, trader, token, now), readAt: now });
}

async function readFunds({ chain }: Venue, trader: Address, token: Address, readAt: number): Promise<Funds> {
  return { ...(await fromNode(chain.funds(trader, token))), readAt };
}
