import type { ExchangeOrder } from '../domain/relay/exchange-order.js';
import type { Protection } from '../facade/protection-store.js';

/** What a bot's order sets on the trades it is for: a limit order against a position is its take profit. */
export const askedLevel = ({ style, limit }: ExchangeOrder): Pick<Protection, 'kind' | 'price'> =>
  style.kind === 'trigger' ? { kind: style.tpsl, price: style.trigger } : { kind: 'tp', price: limit };
