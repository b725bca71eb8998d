import { GatewayError } from '../errors.js';
import type { Scope } from './agent.js';
import { add, compare, formatDecimal, type Decimal } from './decimal.js';

/** The limits of an agent's scope, checked before anything is prepared. null = no limit. */

const DAY_MS = 86_400_000;

/** Spending is counted per UTC day; days are numbered since the epoch. */
export const utcDay = (at: number): number => Math.floor(at / DAY_MS);

export function checkMayTrade({ permissions }: Pick<Scope, 'permissions'>, agent: string): void {
  if (permissions !== 'trade') throw new GatewayError('SCOPE_READ_ONLY', { agent });
}

/** `market` is the canonical symbol, as stored in scopes. */
export function checkMarket({ markets }: Pick<Scope, 'markets'>, market: string): void {
  if (markets !== 'all' && !markets.includes(market)) throw new GatewayError('SCOPE_MARKET_NOT_ALLOWED', { market });
}

/** For every open, increase and leverage change. */
export function checkLeverage({ maxLeverage }: Pick<Scope, 'maxLeverage'>, leverage: Decimal): void {
  if (maxLeverage === null || compare(leverage, maxLeverage) <= 0) return;
  throw new GatewayError('SCOPE_LEVERAGE_EXCEEDED', { leverage: formatDecimal(leverage), maxLeverage: formatDecimal(maxLeverage) });
}

export const isWithinCap = (capUsd: Decimal | null, spentUsd: Decimal, requestedUsd: Decimal): boolean =>
  capUsd === null || compare(add(spentUsd, requestedUsd), capUsd) <= 0;

export const capExceeded = (capUsd: Decimal, spentUsd: Decimal, requestedUsd: Decimal): GatewayError =>
  new GatewayError('SCOPE_SPEND_CAP_EXCEEDED', {
    requestedUsd: formatDecimal(requestedUsd),
    spentUsd: formatDecimal(spentUsd),
    capUsd: formatDecimal(capUsd),
  });
