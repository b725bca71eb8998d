import type { Venue } from '../gateway.js';
import type { Address } from '../ports.js';
import type { OpeningFacts, OpeningQuestion } from './rehearsal.js';

interface Known<Value> {
  readonly value: Value;
  readonly at: number;
}

interface Facts {
  /** What governance grants or imposes on a trader in a market. */
  readonly terms: Map<string, Known<Omit<OpeningFacts, 'isWithinGroupOi'>>>;
  /** By collateral, market and side: the largest opening of late that was found to fit, in collateral units. */
  readonly fits: Map<string, Known<bigint>>;
}

/** Governance seldom changes them. */
const TERMS_KEPT_MS = 10_000;
/** The oracle's callback, which is what this is about, comes later than that anyway. */
const FITS_KEPT_MS = 1_000;
const MOST_KEPT = 10_000;

const factsOf = new WeakMap<Venue, Facts>();

/** What was learned of openings like this one a moment ago; null when it has to be asked for. What does not fit is always asked for. */
export function knownFacts(venue: Venue, trader: Address, opening: OpeningQuestion): OpeningFacts | null {
  const { terms, fits } = own(venue);
  const now = venue.clock.now();
  const term = terms.get(termsKey(trader, opening));
  const fit = fits.get(fitsKey(opening));
  if (!term || now - term.at >= TERMS_KEPT_MS || !fit || now - fit.at >= FITS_KEPT_MS) return null;
  return opening.positionSizeCollateral <= fit.value ? { ...term.value, isWithinGroupOi: true } : null;
}

export function learnFacts(venue: Venue, trader: Address, opening: OpeningQuestion, { isWithinGroupOi, ...value }: OpeningFacts): void {
  const { terms, fits } = own(venue);
  const at = venue.clock.now();
  keep(terms, termsKey(trader, opening), { value, at });
  const [key, size] = [fitsKey(opening), opening.positionSizeCollateral];
  const before = fits.get(key);
  if (!isWithinGroupOi) fits.delete(key);
  else if (!before || before.value <= size || at - before.at >= FITS_KEPT_MS) keep(fits, key, { value: size, at });
}

/** To a number that others of about this size share, a quarter above it at most. */
export function roundedUp(size: bigint): bigint {
  const step = 1n << BigInt(Math.max(0, size.toString(2).length - 3));
  return ((size + step - 1n) / step) * step;
}

/** The oldest goes where there is no room left. */
function keep<Value>(known: Map<string, Known<Value>>, key: string, fact: Known<Value>): void {
  known.delete(key);
  known.set(key, fact);
  const [oldest] = known.size > MOST_KEPT ? known.keys() : [];
  if (oldest !== undefined) known.delete(oldest);
}

const termsKey = (trader: Address, { pairIndex }: OpeningQuestion): string => `${trader} ${pairIndex}`;
const fitsKey = ({ collateralIndex, pairIndex, long }: OpeningQuestion): string => `${collateralIndex} ${pairIndex} ${String(long)}`;

function own(venue: Venue): Facts {
  const facts: Facts = factsOf.get(venue) ?? { terms: new Map(), fits: new Map() };
  factsOf.set(venue, facts);
  return facts;
}
