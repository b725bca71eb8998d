import type { Venue } from '../gateway.js';
import { fromNode } from '../ports/chain.js';
import type { OpeningFacts, OpeningQuestion, OpeningTerms, PairOpenInterest } from '../ports/simulation.js';
import type { Address } from '../types.js';
import { createOnce, createSharedReads } from './shared-reads.js';

/** Terms are changed only by governance. */
const TERMS_KEPT_MS = 10_000;
/** Fit and open interest describe the same state of the market. The oracle's callback, for which they are read, comes later than this anyway. */
const MARKET_KEPT_MS = 1_000;
/** Orders prepared since a reading are counted against it, so a cached one never allows more; a deposit is seen by the second reading. */
const FUNDS_KEPT_MS = 1_000;

/** A trader's balance of a collateral, and the Diamond's allowance of it. */
interface Funds {
  readonly balance: bigint;
  readonly allowance: bigint;
  /** The database's time before the chain was read. */
  readonly readAt: number;
}

const reads = createOnce(({ clock }: Venue) => ({
  /** By trader and market. */
  terms: createSharedReads<string, OpeningTerms | null>(clock, { maxAgeMs: TERMS_KEPT_MS }),
  /** By collateral, market and side, about a size in collateral units: if it fits, every smaller one does. A refusal is never kept. */
  fits: createSharedReads<string, boolean | null, [size: bigint]>(clock, { maxAgeMs: MARKET_KEPT_MS, isKept: (isFit) => isFit !== false }),
  /** By collateral and market. */
  oi: createSharedReads<string, PairOpenInterest | null>(clock, { maxAgeMs: MARKET_KEPT_MS }),
  /** By trader and token, with the time that is `readAt` of the answer. */
  funds: createSharedReads<string, Funds, [readAt: number]>(clock, { maxAgeMs: FUNDS_KEPT_MS }),
}));

/** Reads the facts from the chain. */
export const openingFacts = ({ chain }: Venue, trader: Address, opening: OpeningQuestion): Promise<OpeningFacts | null> =>
  combine(chain.openingTerms(trader, opening.pairIndex), chain.fitsGroupOi(opening), chain.pairOpenInterest(opening));

/** Cached facts. */
export function knownFacts(venue: Venue, trader: Address, opening: OpeningQuestion): Promise<OpeningFacts | null> {
  const { collateralIndex, pairIndex } = opening;
  const { terms, oi } = reads(venue);
  return combine(
    terms.get(`${trader} ${pairIndex}`, () => venue.chain.openingTerms(trader, pairIndex)),
    knownFit(venue, opening),
    oi.get(`${collateralIndex} ${pairIndex}`, () => venue.chain.pairOpenInterest({ collateralIndex, pairIndex })),
  );
}

/** null where this Diamond does not provide them. */
async function combine(
  asked: Promise<OpeningTerms | null>,
  askedFit: Promise<boolean | null>,
  askedOi: Promise<PairOpenInterest | null>,
): Promise<OpeningFacts | null> {
  const [terms, isWithinGroupOi, oi] = await Promise.all([asked, askedFit, askedOi]);
  return terms === null || isWithinGroupOi === null ? null : { ...terms, isWithinGroupOi, oi };
}

/** Asks for a slightly larger size, so that the next opening can use the answer; for this size alone if the larger one does not fit. */
async function knownFit(venue: Venue, opening: OpeningQuestion): Promise<boolean | null> {
  const { collateralIndex, pairIndex, long, positionSizeCollateral: size } = opening;
  const { fits } = reads(venue);
  const key = `${collateralIndex} ${pairIndex} ${String(long)}`;
  const ask = (positionSizeCollateral: bigint): Promise<boolean | null> => venue.chain.fitsGroupOi({ ...opening, positionSizeCollateral });
  const known = fits.recent(key);
  const larger = roundedUp(size);
  const { answer, about } = known && size <= known.about[0] ? known : fits.keep(key, ask(larger), larger);
  return (await answer) !== false || about[0] === size ? answer : ask(size);
}

/** Rounds up to three significant bits (at most a quarter more), so that similar sizes share an entry. */
export function roundedUp(size: bigint): bigint {
  const step = 1n << BigInt(Math.max(0, size.toString(2).length - 3));
  return ((size + step - 1n) / step) * step;
}

const fundsKey = (trader: Address, token: Address): string => `${trader} ${token}`;

/** From the chain or cached, so that bots with many requests a second cause one reading. */
export const knownFunds = (venue: Venue, trader: Address, token: Address, askedAt: number): Promise<Funds> =>
  reads(venue).funds.get(fundsKey(trader, token), () => readFunds(venue, trader, token, askedAt), askedAt);

/** Read again after cached figures were insufficient. Openings of one action share any reading made `since`. Both times are the database's. */
export function freshFunds(
  venue: Venue,
  trader: Address,
  token: Address,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<Funds> {
  const { funds } = reads(venue);
  const key = fundsKey(trader, token);
  const last = funds.recent(key);
  return last && last.about[0] > since ? last.answer : funds.keep(key, readFunds(venue, trader, token, now), now).answer;
}

async function readFunds({ chain }: Venue, trader: Address, token: Address, readAt: number): Promise<Funds> {
  return { ...(await fromNode(chain.funds(trader, token))), readAt };
}
