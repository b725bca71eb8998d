import { formatDecimal } from './format.js';

const SIGNIFICANT = 6;
const FEWEST = 2;

/** The contracts keep ten decimals of every price: six significant digits are shown, and cents at least. */
export function priceDigits(text: string, most: number): number {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const zeros = whole === '0' ? (/^0*/.exec(fraction)?.[0].length ?? 0) : -whole.length;
  return Math.min(Math.max(SIGNIFICANT + zeros, FEWEST), most);
}

export const showPrice = (text: string, most: number): string => formatDecimal(text, priceDigits(text, most));
