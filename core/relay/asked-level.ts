import type { MarketConfig } from '../domain/market.js';
import type { PositionState } from '../domain/position.js';
import { marketView } from '../domain/pricing/market-view.js';
import type { ExchangeOrder } from '../domain/relay/exchange-order.js';
import type { Protection } from '../facade/protection-store.js';
import { storedStopLoss } from '../orders/order-request.js';

type Level = Pick<Protection, 'kind' | 'price'>;

/** What a bot's order sets on the trades it is for: a limit order against a position is its take profit. */
export const askedLevel = ({ style, limit }: ExchangeOrder): Level =>
  style.kind === 'trigger' ? { kind: style.tpsl, price: style.trigger } : { kind: 'tp', price: limit };

/** The price at which the contract keeps a level of a position: it clamps a stop loss that is too far away. One it drops has its own. */
export function keptPrice(config: MarketConfig, position: PositionState, { kind, price }: Level): bigint {
  const view = kind === 'sl' ? marketView(config, position) : null;
  const kept = view && storedStopLoss(view, { ...position, sl: price, price: position.openPrice });
  return kept === null || kept === 0n ? price : kept;
}
