import { marketView } from '../../../core/domain/pricing/market-view.js';
import type { Leg, TranslationContext } from '../../../core/domain/relay/exchange-order.js';
import type { StopBeyondCap } from '../../../core/config/facade.js';
import type { Venue } from '../../../core/gateway.js';
import type { PositionFigures } from '../../../core/trading/find-position.js';
import { storedStopLoss } from '../../../core/trading/order-request.js';

export interface BeyondCap {
  /** 1e10: the nearest price at which every trade of the order keeps its stop loss; null if fees allow none. */
  readonly nearest: bigint | null;
  /** The side of the protected position. */
  readonly long: boolean;
}

interface Stop {
  readonly asked: bigint;
  readonly kept: bigint;
  readonly long: boolean;
}

/** null if the contract stores every stop loss of an order at its requested price. A stop loss that it would drop is always refused. */
export function beyondCap(
  venue: Venue,
  { positions, stopBeyondCap }: { readonly positions: readonly PositionFigures[]; readonly stopBeyondCap: StopBeyondCap },
  legs: readonly Leg[],
  context: TranslationContext,
): BeyondCap | null {
  const stops = legs.flatMap((leg) => stopOf(venue, positions, leg, context) ?? []);
  const moved = stops.filter(({ asked, kept }) => kept !== asked);
  const [first] = moved;
  if (first === undefined) return null;
  const { long } = first;
  if (moved.some(({ kept }) => kept === 0n)) return { nearest: null, long };
  if (stopBeyondCap === 'move') return null;
  return { nearest: moved.map(({ kept }) => kept).reduce((a, b) => (a > b === long ? a : b)), long };
}

function stopOf(venue: Venue, positions: readonly PositionFigures[], { intent }: Leg, { predicted }: TranslationContext): Stop | null {
  const config = venue.feed.config();
  if (intent.kind === 'open') {
    const view = intent.sl === 0n ? null : marketView(config, intent);
    const price = intent.type === 'market' ? predicted : intent.price;
    return view && { asked: intent.sl, kept: storedStopLoss(view, { ...intent, price }), long: intent.long };
  }
  if (intent.kind !== 'protect' || intent.sl === null || intent.sl === 0n) return null;
  const position = positions.find(({ tradeIndex }) => tradeIndex === intent.tradeIndex);
  const view = position && marketView(config, position);
  if (!position || !view) return null;
  const { openPrice: price, long, leverage } = position;
  return { asked: intent.sl, kept: storedStopLoss(view, { sl: intent.sl, price, long, leverage }), long };
}
