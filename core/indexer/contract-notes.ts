import { collateralDifferences, collateralDoubts, PUBLISHED_COLLATERALS } from '../chains/collaterals.js';
import { isWriteName, USED_SELECTORS, WRITE_FUNCTIONS } from '../chains/diamond-functions.js';
import type { Venue } from '../gateway.js';
import type { ChainFacts } from '../ports/chain.js';

/** Notes for the operator: functions the Diamond lacks, and values that differ from the published ones. The service uses the chain's values. */
export function factNotes({ definition }: Pick<Venue, 'definition'>, { missing, collaterals, ...asked }: ChainFacts): string[] {
  const ofCollaterals = collaterals === null ? [] : collateralDifferences(PUBLISHED_COLLATERALS[definition.slug], collaterals);
  const differences = [...ofCollaterals, ...referrerNotes(asked)];
  if (missing === null) return ['the Diamond does not list the functions it serves: they are unchecked', ...differences];
  return [...missing.map(missingNote), ...differences];
}

/** A referrer that is not whitelisted is ignored by the contract and earns nothing. */
const referrerNotes = ({ unlisted = [], unchecked = [] }: Pick<ChainFacts, 'unlisted' | 'unchecked'>): string[] => [
  ...unlisted.map((referrer) => `the protocol has not whitelisted ${referrer} as a referrer: openings name it, and it earns nothing`),
  ...unchecked.map((referrer) => `the Diamond does not say whether ${referrer} is whitelisted as a referrer`),
];

/** Reads of positions and orders; where nothing takes their place, the read of the position is refused. */
const REPLACED: ReadonlySet<string> = new Set([
  'getTrades',
  'getTradeInfos',
  'getTradesLiquidationParams',
  'getTradeFeesDataArray',
  'getTradeUiRealizedPnlDataArray',
  'getPairFundingFeeData',
  'getPairBorrowingFeeData',
  'getPairOisAfterV10Token',
  'pairSpreadPArray',
  'getTrade',
  'getPendingOrders',
  'getTradeInfo',
]);

export const missingNote = (name: string): string =>
  `the Diamond does not serve ${name} (${USED_SELECTORS.get(name) ?? 'unknown'}): ${isWriteName(name) ? `${WRITE_FUNCTIONS[name].turnsOff} is off` : REPLACED.has(name) ? 'another read, our own computation or its last answer takes its place' : 'what is read with it is missing'}`;

/** All current notes of the venue; empty until its node is identified. */
export function venueNotes({ definition, state: { facts }, feed }: Venue): string[] {
  if (facts === null) return [];
  const { collaterals } = facts;
  const isComparable = collaterals !== null && feed.status().configFrom === 'backend';
  return [...factNotes({ definition }, facts), ...(isComparable ? collateralDoubts(feed.config().collaterals, collaterals) : [])];
}
