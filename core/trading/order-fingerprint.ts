import { formatDecimal, type Decimal } from '../domain/decimal.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Hex } from '../types.js';
import { DEFAULT_SLIPPAGE, usualCollateral, type OrderRequest } from './order-request.js';

/** Hash of the normalised request: `1.0` and `1`, `btc-usd` and `BTC/USD`, an explicit and an omitted default are equal. */
export function fingerprintOf(gateway: Gateway, venue: Venue, request: OrderRequest): Hex {
  const usual = usualCollateral(venue, request);
  const isUsual = request.collateral?.toUpperCase() === usual?.toUpperCase();
  return fingerprintWith(gateway, venue, isUsual ? { ...request, collateral: undefined } : request);
}

/** Whether the stored order has the same request. Fingerprints of older orders include an explicitly named default collateral. */
export function isSameRequest(gateway: Gateway, venue: Venue, request: OrderRequest, stored: Hex | null): boolean {
  const asked = fingerprintOf(gateway, venue, request);
  if (stored === asked) return true;
  const usual = usualCollateral(venue, request);
  const isUsual = request.collateral === undefined || request.collateral.toUpperCase() === usual?.toUpperCase();
  return usual !== undefined && isUsual && stored === fingerprintWith(gateway, venue, { ...request, collateral: usual });
}

function fingerprintWith(gateway: Gateway, venue: Venue, request: OrderRequest): Hex {
  const { market, side, type, size, leverage, price, collateral, sl, tp, reduceOnly, slippage, referrer } = request;
  const fields = [
    market,
    side,
    type,
    text(size),
    text(leverage),
    text(price),
    collateral?.toUpperCase() ?? null,
    text(sl),
    text(tp),
    reduceOnly,
    text(slippage ?? (reduceOnly ? undefined : DEFAULT_SLIPPAGE)),
    // Added only when named, so that fingerprints from before referrers existed stay valid.
    ...(referrer === undefined || referrer === venue.referrers.native ? [] : [referrer]),
  ];
  return hashOf(gateway, Buffer.from(JSON.stringify(fields)));
}

/** For writes without an order request: hash of the trader's call. */
export const fingerprintOfCall = (gateway: Gateway, inner: Hex): Hex => hashOf(gateway, Buffer.from(inner.slice(2), 'hex'));

const hashOf = ({ access }: Gateway, bytes: Uint8Array): Hex => `0x${Buffer.from(access.crypto.keccak(bytes)).toString('hex')}`;

/** Zero is equal to absent. */
const text = (value: Decimal | undefined): string | null => (value === undefined || value.units === 0n ? null : formatDecimal(value));
