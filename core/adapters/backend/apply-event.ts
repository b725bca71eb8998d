import type { PairInCollateral } from '../../domain/market.js';
import { borrowingAccumulator, fundingState, openInterest } from './collateral-wire.js';
import { newestWindows, volumeWindow } from './pair-wire.js';
import type { Sections } from './sections.js';
import { field, isObject, position } from './wire.js';

/** `changed`: applied, listeners must be notified; `refetch`: the event says that something changed, but not what. */
export type Outcome = 'changed' | 'ignored' | 'refetch';

type Apply = (sections: Partial<Sections>, value: unknown) => Outcome;

/** Incremental events of the chain stream that concern the market configuration; other names are ignored. */
const EVENTS: Readonly<Record<string, Apply>> = {
  openInterestPairUpdated: (sections, value) => {
    const given = field(value, 'pairBorrowingFees');
    const row = field(given, 'oi') ?? given;
    const oi = isObject(row) && isObject(row['beforeV10']) ? openInterest(row) : null;
    return replaceRow(sections, value, (pair) => oi && { ...pair, ...oi });
  },
  pendingAccFundingFeesStored: (sections, value) => {
    const data = field(value, 'pairData');
    const funding = isObject(data) ? fundingState(data) : null;
    return replaceRow(sections, value, (pair) => funding && { ...pair, funding });
  },
  pendingAccBorrowingFeesStored: (sections, value) => {
    const data = field(value, 'pairData');
    const accumulator = isObject(data) ? borrowingAccumulator(data) : null;
    return replaceRow(sections, value, (pair) => accumulator && { ...pair, borrowing: { ...pair.borrowing, ...accumulator } });
  },
  oiWindowUpdated: (sections, value) => replaceWindow(sections, value),
  deepReorg: () => 'refetch',
  // Open interest changed, but the payload of these events is undocumented.
  updateLeverage: () => 'refetch',
  updatePositionSize: () => 'refetch',
};

export function applyEvent(sections: Partial<Sections>, name: string, value: unknown): Outcome {
  return Object.hasOwn(EVENTS, name) ? (EVENTS[name]?.(sections, value) ?? 'ignored') : 'ignored';
}

/** A malformed event, or one about a row we do not have, means that our state is incomplete: a snapshot replaces it. */
function replaceRow(sections: Partial<Sections>, value: unknown, change: (pair: PairInCollateral) => PairInCollateral | null): Outcome {
  const [collateralIndex, pairIndex] = [position(field(value, 'collateralIndex')), position(field(value, 'pairIndex'))];
  const collateral = sections.collaterals?.find(({ index }) => index === collateralIndex);
  const pair = pairIndex === null ? null : collateral?.pairs[pairIndex];
  const changed = pair ? change(pair) : null;
  if (!collateral || pairIndex === null || !changed) return 'refetch';
  collateral.pairs[pairIndex] = changed;
  return 'changed';
}

/** Some senders omit the pair; then only a snapshot shows which window changed. */
function replaceWindow(sections: Partial<Sections>, value: unknown): Outcome {
  const pairIndex = position(field(value, 'pairIndex'));
  const window = volumeWindow(field(value, 'windowId'), field(value, 'newOi'));
  const held = pairIndex === null ? undefined : sections.windows?.[pairIndex];
  if (pairIndex === null || !window || !sections.windows || held === undefined || held === 'malformed') return 'refetch';
  sections.windows[pairIndex] = newestWindows([...held.filter(({ id }) => id !== window.id), window]);
  return 'changed';
}
