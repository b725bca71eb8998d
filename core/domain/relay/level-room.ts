import { DEFAULT_CLOSING_SLIPPAGE_P } from '../pricing/slippage.js';
import type { ExchangeOrder } from './exchange-order.js';
import { roomTo } from './price-bound.js';

/** What an order-book exchange lets a market order lose after its trigger, 1e3 percent. */
const MARKET_ROOM_P = 10_000n;

type Followed = Pick<ExchangeOrder, 'isBuy' | 'limit' | 'style'>;

/**
 * How far a take profit or stop loss may be followed when the market jumps over it, 1e3 percent: as far as its limit says, never less
 * than the contract's default. A market order whose limit is its trigger names no worst price at all: it gets what an exchange gives it.
 */
export function levelRoom({ isBuy, limit, style }: Followed, maxSlippageP: bigint): bigint {
  if (style.kind !== 'trigger') return DEFAULT_CLOSING_SLIPPAGE_P;
  const room = roomTo(limit, style.trigger, isBuy, maxSlippageP);
  const wanted = room === 0n && style.isMarket === true ? MARKET_ROOM_P : room;
  return wanted < DEFAULT_CLOSING_SLIPPAGE_P ? DEFAULT_CLOSING_SLIPPAGE_P : wanted;
}

/** What a trade allows now; one that never set anything has the contract's default. */
export const closingRoom = ({ slippageP }: { readonly slippageP: bigint }): bigint => slippageP || DEFAULT_CLOSING_SLIPPAGE_P;
