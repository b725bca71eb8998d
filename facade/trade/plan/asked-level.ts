import type { MarketConfig } from '../../../core/domain/market.js';
import type { PositionState } from '../../../core/domain/position.js';
import { marketView } from '../../../core/domain/pricing/market-view.js';
import type { ExchangeOrder } from '../../../core/domain/relay/exchange-order.js';
import type { Protection } from '../../../core/ports/stores/protections.js';
import { storedStopLoss } from '../../../core/trading/order-request.js';

type Level = Pick<Protection, 'kind' | 'price'>;

/** The level that a bot's order sets on its trades: a limit order against a position is its take profit. */
export const askedLevel = ({ style, limit }: ExchangeOrder): Level =>
  style.kind === 'trigger' ? { kind: style.tpsl, price: style.trigger } : { kind: 'tp', price: limit };

/** The price at which the contract stores a level: it clamps a stop loss that is too far away. A dropped one keeps the requested price. */
export function keptPrice(config: MarketConfig, position: PositionState, { kind, price }: Level): bigint {
  const view = kind === 'sl' ? marketView(config, position) : null;
  const kept = view && storedStopLoss(view, { ...position, sl: price, price: position.openPrice });
  return kept === null || kept === 0n ? price : kept;
}
