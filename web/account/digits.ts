import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { formatPrice, formatUpTo } from '../ui/format.js';
import type { MarketDigits } from './types.js';

/** Prices and sizes in the precision of their market; a market that is no longer listed shows all its digits. */
export interface Digits {
  price(market: string | null, text: string): string;
  size(market: string | null, text: string): string;
}

const MOST_DIGITS = 10;

export const digitsOf = (markets: readonly MarketDigits[]): Digits => {
  const known = new Map(markets.map((market) => [market.symbol, market]));
  const found = (market: string | null): MarketDigits | undefined => (market === null ? undefined : known.get(market));
  return {
    price(market, text) {
      const precision = found(market)?.pricePrecision;
      return precision === undefined ? formatUpTo(text, MOST_DIGITS) : formatPrice(text, precision);
    },
    size: (market, text) => formatUpTo(text, found(market)?.sizePrecision ?? MOST_DIGITS),
  };
};

export const DigitsContext = createContext<Digits>(digitsOf([]));
export const useDigits = (): Digits => useContext(DigitsContext);
