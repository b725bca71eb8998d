import type { OpenIntent } from '../../core/domain/intent.js';
import { collateralForBaseSize } from '../../core/domain/pricing/size.js';
import type { ExchangeOrder } from '../../core/domain/relay/exchange-order.js';
import type { MarketFeed } from '../../core/ports/feed.js';
import type { Address } from '../../core/types.js';

/** What the signed text does not say about an opening, and no row is believed about. */
export interface OpeningFacts {
  readonly feed: Pick<MarketFeed, 'config' | 'lastPrice'>;
  /** Named in every opening; null = none. */
  readonly referrer: Address | null;
}

/** Half of the price more: as far as an honest price may be from the live one, with spread, impact and the time in between. */
const FARTHEST = { of: 2n, by: 3n } as const;
/** Hidden digits of earlier trades, and the half lot that is added to an opening. */
const LOTS_BEYOND = 2n;

/** Whether an opening names no referrer but the configured one. */
export const namesNoOther = ({ referrer }: Pick<OpeningFacts, 'referrer'>, intent: Pick<OpenIntent, 'referrer'>): boolean =>
  intent.referrer === undefined || intent.referrer === referrer;

/**
 * Whether an opening is of the size that was signed. Its collateral was reckoned with figures of a row, so it is measured once more: with the
 * contract's own units, the live price, and the signed limit. Null where it takes a price that is not known yet, as after a restart.
 */
export function isWithinSigned(
  { feed }: Pick<OpeningFacts, 'feed'>,
  { isBuy, limit, size }: Pick<ExchangeOrder, 'isBuy' | 'limit' | 'size'>,
  intent: OpenIntent,
  lot: bigint,
): boolean | null {
  const collateral = feed.config().collaterals.find(({ index }) => index === intent.collateralIndex);
  if (collateral === undefined) return false;
  const live = feed.lastPrice(intent.pairIndex)?.oracle;
  // A buyer never pays more than the limit; a seller may get any price above it.
  const price = isBuy || live === undefined || live < limit ? limit : live;
  const most = collateralForBaseSize({
    baseSize: size + LOTS_BEYOND * lot,
    price: (price * FARTHEST.by) / FARTHEST.of,
    leverage: intent.leverage,
    collateral,
    rounding: 'half-up',
  });
  const isWithin = intent.collateralAmount <= most;
  return !isWithin && !isBuy && live === undefined ? null : isWithin;
}
