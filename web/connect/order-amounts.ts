import type { Market } from '@diamond-gateway/client/api';
import { scaled, unscaled } from '../ui/format.js';

const SCALE = 18;
const ONE = 10n ** BigInt(SCALE);

/** Base units worth that many USD, rounded up to the market's precision: rounding down could fall below the least position. */
export function sizeFor(usd: string, price: string, precision: number): string {
  const cost = scaled(price, SCALE);
  if (cost === 0n) throw new RangeError('The market has no price.');
  const step = 10n ** BigInt(SCALE - precision);
  const size = (scaled(usd, SCALE) * ONE + cost - 1n) / cost;
  return unscaled(((size + step - 1n) / step) * step, SCALE);
}

/** Hyperliquid prices have five significant digits, and six decimals less those of the size; the bound is five percent worse. */
export function boundPrice(price: string, isBuy: boolean, szDecimals: number): string {
  const worse = (scaled(price, SCALE) * (isBuy ? 105n : 95n)) / 100n;
  const places = worse.toString().length;
  const unit = 10n ** BigInt(Math.max(0, places - 5, SCALE - Math.max(0, 6 - szDecimals)));
  return unscaled((worse / unit) * unit, SCALE);
}

const CENTS = 2;

/** What the order takes out of the wallet, in dollars, rounded up to cents. */
export function collateralFor(usd: string, leverage: string): string {
  const by = scaled(leverage, SCALE);
  if (by === 0n) throw new RangeError('The leverage is zero.');
  const cents = (scaled(usd, SCALE) * ONE + by - 1n) / by;
  const unit = 10n ** BigInt(SCALE - CENTS);
  return unscaled(((cents + unit - 1n) / unit) * unit, SCALE);
}

/** A tenth more than the page shows: the price moves meanwhile, and sizes are rounded up. */
export const withTenth = (amount: string): string => unscaled(scaled(amount, CENTS) * 11n, CENTS + 1);

/** The usual collateral of a market: USDC where it is listed, else the only one. Its amounts can be read as dollars or not. */
const DOLLARS: ReadonlySet<string> = new Set(['USDC', 'DAI']);
export const takesDollars = ({ collaterals }: Market): boolean =>
  collaterals.some(({ symbol }) => symbol === 'USDC') ||
  (collaterals.length === 1 && collaterals.every(({ symbol }) => DOLLARS.has(symbol)));
