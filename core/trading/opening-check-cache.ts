import { LRUCache } from 'lru-cache';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';
import type { OpeningFacts, OpeningQuestion, OpeningTerms, PairOpenInterest } from '../ports/simulation.js';

/** A cached request; concurrent callers share it. */
interface Asked<Answer> {
  readonly answer: Promise<Answer>;
  readonly at: number;
}

interface AskedFit extends Asked<boolean | null> {
  /** In collateral units: if this size fits, every smaller one does. */
  readonly size: bigint;
}

interface Facts {
  readonly terms: LRUCache<string, Asked<OpeningTerms | null>>;
  /** By collateral, market and side. */
  readonly fits: LRUCache<string, AskedFit>;
  /** By collateral and market. */
  readonly oi: LRUCache<string, Asked<PairOpenInterest | null>>;
}

/** Terms are changed only by governance. */
const TERMS_KEPT_MS = 10_000;
/** The oracle's callback, for which this is predicted, comes later than this anyway. */
const FITS_KEPT_MS = 1_000;
const MAX_KEPT = 10_000;

const factsOf = new WeakMap<Venue, Facts>();

/** Reads the facts from the chain. */
export const openingFacts = ({ chain }: Venue, trader: Address, opening: OpeningQuestion): Promise<OpeningFacts | null> =>
  combine(chain.openingTerms(trader, opening.pairIndex), chain.fitsGroupOi(opening), chain.pairOpenInterest(opening));

/** Cached facts. A negative fit is never cached. */
export const knownFacts = (venue: Venue, trader: Address, opening: OpeningQuestion): Promise<OpeningFacts | null> =>
  combine(knownTerms(venue, trader, opening), knownFit(venue, opening), knownOi(venue, opening));

/** null where this Diamond does not provide them. */
async function combine(
  asked: Promise<OpeningTerms | null>,
  askedFit: Promise<boolean | null>,
  askedOi: Promise<PairOpenInterest | null>,
): Promise<OpeningFacts | null> {
  const [terms, isWithinGroupOi, oi] = await Promise.all([asked, askedFit, askedOi]);
  return terms === null || isWithinGroupOi === null ? null : { ...terms, isWithinGroupOi, oi };
}

/** Cached as long as the fit: both describe the same state of the market. */
function knownOi(venue: Venue, { collateralIndex, pairIndex }: OpeningQuestion): Promise<PairOpenInterest | null> {
  const { oi } = own(venue);
  const key = `${collateralIndex} ${pairIndex}`;
  const [known, now] = [oi.get(key), venue.clock.now()];
  if (known && Math.abs(now - known.at) < FITS_KEPT_MS) return known.answer;
  const asked = { answer: venue.chain.pairOpenInterest({ collateralIndex, pairIndex }), at: now };
  oi.set(key, asked);
  asked.answer.catch(() => forget(oi, key, asked));
  return asked.answer;
}

function knownTerms(venue: Venue, trader: Address, { pairIndex }: OpeningQuestion): Promise<OpeningTerms | null> {
  const { terms } = own(venue);
  const key = `${trader} ${pairIndex}`;
  const [known, now] = [terms.get(key), venue.clock.now()];
  if (known && Math.abs(now - known.at) < TERMS_KEPT_MS) return known.answer;
  const asked = { answer: venue.chain.openingTerms(trader, pairIndex), at: now };
  terms.set(key, asked);
  asked.answer.catch(() => forget(terms, key, asked));
  return asked.answer;
}

async function knownFit(venue: Venue, opening: OpeningQuestion): Promise<boolean | null> {
  const { collateralIndex, pairIndex, long, positionSizeCollateral } = opening;
  const { fits } = own(venue);
  const key = `${collateralIndex} ${pairIndex} ${String(long)}`;
  const [known, now] = [fits.get(key), venue.clock.now()];
  const asked =
    known && Math.abs(now - known.at) < FITS_KEPT_MS && positionSizeCollateral <= known.size ? known : askFit(venue, key, opening, now);
  return (await asked.answer) !== false || asked.size === positionSizeCollateral ? asked.answer : venue.chain.fitsGroupOi(opening);
}

/** Asks for a slightly larger size, so that the next opening can use the answer. */
function askFit(venue: Venue, key: string, opening: OpeningQuestion, at: number): AskedFit {
  const { fits } = own(venue);
  const size = roundedUp(opening.positionSizeCollateral);
  const asked: AskedFit = { answer: venue.chain.fitsGroupOi({ ...opening, positionSizeCollateral: size }), at, size };
  fits.set(key, asked);
  const unlessRefused = (isFit: boolean | null): void => (isFit === false ? forget(fits, key, asked) : undefined);
  asked.answer.then(unlessRefused, () => forget(fits, key, asked));
  return asked;
}

/** Rounds up to three significant bits (at most a quarter more), so that similar sizes share an entry. */
export function roundedUp(size: bigint): bigint {
  const step = 1n << BigInt(Math.max(0, size.toString(2).length - 3));
  return ((size + step - 1n) / step) * step;
}

function forget<Value extends object>(known: LRUCache<string, Value>, key: string, value: Value): void {
  if (known.get(key) === value) known.delete(key);
}

function own(venue: Venue): Facts {
  const max = MAX_KEPT;
  const facts: Facts = factsOf.get(venue) ?? { terms: new LRUCache({ max }), fits: new LRUCache({ max }), oi: new LRUCache({ max }) };
  factsOf.set(venue, facts);
  return facts;
}
