import { DEFAULT_CLOSING_SLIPPAGE_P } from '../pricing/execution-price.js';
import type { ExchangeOrder } from './exchange-order.js';
import { slippageTo } from './price-bound.js';

/** Slippage that an order-book exchange allows a market order after its trigger, 1e3 percent. */
const MARKET_SLIPPAGE_P = 10_000n;

type TriggerOrder = Pick<ExchangeOrder, 'isBuy' | 'limit' | 'style'>;

/**
 * Closing slippage of a take profit or stop loss, 1e3 percent: the distance from trigger to limit, at least the contract's default. A market
 * order whose limit is its trigger names no worst price, so it gets the exchange's default.
 */
export function wantedClosingSlippage({ isBuy, limit, style }: TriggerOrder, maxSlippageP: bigint): bigint {
  if (style.kind !== 'trigger') return DEFAULT_CLOSING_SLIPPAGE_P;
  const distance = slippageTo(limit, style.trigger, isBuy, maxSlippageP);
  const wanted = distance === 0n && style.isMarket === true ? MARKET_SLIPPAGE_P : distance;
  return wanted < DEFAULT_CLOSING_SLIPPAGE_P ? DEFAULT_CLOSING_SLIPPAGE_P : wanted;
}

/** The trade's closing slippage, or the contract's default if none is set. */
export const currentClosingSlippage = ({ slippageP }: { readonly slippageP: bigint }): bigint => slippageP || DEFAULT_CLOSING_SLIPPAGE_P;
