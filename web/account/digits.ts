import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { formatDecimal, formatUpTo } from '../ui/format.js';
import type { MarketDigits } from './types.js';

/** Prices and sizes as people read them; the exact value stands in the title of its cell. */
export interface Digits {
  price(market: string | null, text: string): string;
  size(market: string | null, text: string): string;
}

const MOST_DIGITS = 10;
const SIGNIFICANT = 6;
const FEWEST_DECIMALS = 2;

/** The contracts keep ten decimals of every price: six significant digits are shown, and cents at least. */
function decimalsOf(text: string, most: number): number {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const zeros = whole === '0' ? (/^0*/.exec(fraction)?.[0].length ?? 0) : -whole.length;
  return Math.min(Math.max(SIGNIFICANT + zeros, FEWEST_DECIMALS), most);
}

export const digitsOf = (markets: readonly MarketDigits[]): Digits => {
  const known = new Map(markets.map((market) => [market.symbol, market]));
  const found = (market: string | null): MarketDigits | undefined => (market === null ? undefined : known.get(market));
  return {
    price: (market, text) => formatDecimal(text, decimalsOf(text, found(market)?.pricePrecision ?? MOST_DIGITS)),
    size: (market, text) => formatUpTo(text, decimalsOf(text, found(market)?.sizePrecision ?? MOST_DIGITS)),
  };
};

export const DigitsContext = createContext<Digits>(digitsOf([]));
export const useDigits = (): Digits => useContext(DigitsContext);
