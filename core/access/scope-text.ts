import type { Permission, Scope } from '../domain/agent.js';
import { parseDecimal, type Decimal } from '../domain/decimal.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import { directoryOf } from '../markets/directory.js';

/** A scope as written in the request, which is what the master wallet signed. */
export interface ScopeText {
  readonly markets: 'all' | readonly string[];
  readonly maxLeverage: string | null;
  readonly dailySpendCapUsd: string | null;
  readonly expiresAt: number | null;
  readonly permissions: Permission;
}

/** The signed form: an absent bound is an empty text, all markets a star, no expiry zero. */
export const signedScope = ({ markets, maxLeverage, dailySpendCapUsd, expiresAt, permissions }: ScopeText) => ({
  markets: markets === 'all' ? '*' : markets.join(','),
  maxLeverage: maxLeverage ?? '',
  dailySpendCapUsd: dailySpendCapUsd ?? '',
  expiresAt: BigInt(expiresAt ?? 0),
  permissions,
});

/** The parsed scope: canonical decimals, and markets by their canonical symbols. */
export const readScope = (venue: Venue, { markets, maxLeverage, dailySpendCapUsd, expiresAt, permissions }: ScopeText): Scope => ({
  markets: markets === 'all' ? 'all' : readMarkets(venue, markets),
  maxLeverage: bound(maxLeverage),
  dailySpendCapUsd: bound(dailySpendCapUsd),
  expiresAt,
  permissions,
});

const bound = (text: string | null): Decimal | null => (text === null ? null : parseDecimal(text));

/** A misspelt market would forbid the market it was meant to allow, so unknown names are rejected. */
function readMarkets(venue: Venue, markets: readonly string[]): readonly string[] {
  if (markets.length === 0) return [];
  const { bySymbol } = directoryOf(venue.feed.config());
  const symbols = markets.map((text) => text.toUpperCase().replace('-', '/'));
  const issues = symbols.flatMap((symbol, index) =>
    bySymbol.has(symbol) ? [] : [{ path: `scope.markets.${index}`, message: 'names no market of this chain' }],
  );
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues });
  return [...new Set(symbols)];
}
