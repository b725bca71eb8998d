import fc from 'fast-check';
import {
  agentStatus,
  capExceeded,
  checkLeverage,
  checkMarket,
  checkMayTrade,
  isExpired,
  isWithinCap,
  utcDay,
  type Agent,
  type Scope,
} from '../../../core/domain/agent.js';
import { add, compare, decimal, parseDecimal } from '../../../core/domain/decimal.js';
import { GatewayError } from '../../../core/errors.js';

const scope = (changes: Partial<Scope> = {}): Scope => ({
  markets: 'all',
  maxLeverage: null,
  dailySpendCapUsd: null,
  expiresAt: null,
  permissions: 'trade',
  ...changes,
});
const codeOf = (check: () => void): string | null => {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return String(error.code);
    throw error;
  }
};

describe('a scope', () => {
  it('without bounds binds nothing', () => {
    expect(codeOf(() => checkMarket(scope(), 'BTC/USD'))).toBeNull();
    expect(codeOf(() => checkLeverage(scope(), parseDecimal('1000')))).toBeNull();
    expect(codeOf(() => checkMayTrade(scope(), '0x1'))).toBeNull();
    expect(isWithinCap(null, parseDecimal('1000000'), parseDecimal('1000000'))).toBe(true);
    expect(isExpired(scope(), Number.MAX_SAFE_INTEGER)).toBe(false);
  });

  it('lets a reader trade nothing', () =>
    expect(codeOf(() => checkMayTrade(scope({ permissions: 'read' }), '0x1'))).toBe('SCOPE_READ_ONLY'));

  it('names its markets, and an empty list is none of them', () => {
    const listed = scope({ markets: ['BTC/USD'] });
    expect(codeOf(() => checkMarket(listed, 'BTC/USD'))).toBeNull();
    expect(codeOf(() => checkMarket(listed, 'ETH/USD'))).toBe('SCOPE_MARKET_NOT_ALLOWED');
    expect(codeOf(() => checkMarket(scope({ markets: [] }), 'BTC/USD'))).toBe('SCOPE_MARKET_NOT_ALLOWED');
  });

  it('allows its leverage exactly, and not a digit more', () => {
    const bounded = scope({ maxLeverage: parseDecimal('10.5') });
    expect(codeOf(() => checkLeverage(bounded, parseDecimal('10.50')))).toBeNull();
    expect(codeOf(() => checkLeverage(bounded, parseDecimal('10.500000001')))).toBe('SCOPE_LEVERAGE_EXCEEDED');
  });

  it('reports what was asked, spent and allowed', () => {
    expect(capExceeded(parseDecimal('100'), parseDecimal('60.50'), parseDecimal('40')).details).toEqual({
      requestedUsd: '40',
      spentUsd: '60.5',
      capUsd: '100',
    });
  });

  it('caps the sum, whatever the digits', () => {
    const usd = fc.tuple(fc.bigInt(0n, 10n ** 30n), fc.integer({ min: 0, max: 18 })).map(([units, scale]) => decimal(units, scale));
    fc.assert(
      fc.property(usd, usd, usd, (cap, spent, asked) => {
        expect(isWithinCap(cap, spent, asked)).toBe(compare(add(spent, asked), cap) <= 0);
        expect(isWithinCap(add(spent, asked), spent, asked)).toBe(true);
        expect(isWithinCap(add(spent, asked), add(spent, decimal(1n, 18)), asked)).toBe(false);
      }),
    );
  });

  it('counts days in UTC, from midnight to midnight', () => {
    const midnight = Date.UTC(2026, 2, 29);
    expect(utcDay(midnight) - utcDay(midnight - 1)).toBe(1);
    expect(utcDay(midnight + 86_399_999)).toBe(utcDay(midnight));
    expect(utcDay(0)).toBe(0);
  });
});

describe('the status of an agent', () => {
  const agent = (changes: Partial<Agent> = {}): Agent => ({
    agent: '0xa',
    trader: '0xb',
    name: '',
    scope: scope(),
    mode: 'self',
    createdAt: 0,
    revokedAt: null,
    version: 1n,
    ...changes,
  });

  it.each<[string, Agent, string | null, string | null, string]>([
    ['pending without a delegate', agent(), '0xa', null, 'pending_delegation'],
    ['pending while another address is delegate', agent(), '0xa', '0xc', 'pending_delegation'],
    ['active as the delegate, whatever the letters', agent(), '0xa', '0xA', 'active'],
    ['active as the trader itself', agent({ agent: '0xb' }), '0xb', null, 'active'],
    ['pending where no relayer serves, even without a delegate', agent({ mode: 'relayed' }), null, null, 'pending_delegation'],
    ['active through the relayer', agent({ mode: 'relayed' }), '0xr', '0xr', 'active'],
    ['expired at the very millisecond', agent({ scope: scope({ expiresAt: 1_000 }) }), '0xa', '0xa', 'expired'],
    ['active a millisecond before', agent({ scope: scope({ expiresAt: 1_001 }) }), '0xa', '0xa', 'active'],
    ['revoked, however delegated and expired', agent({ revokedAt: 1, scope: scope({ expiresAt: 1 }) }), '0xa', '0xa', 'revoked'],
  ])('is %s', (_what, given, sender, delegate, status) => expect(agentStatus(given, sender, delegate, 1_000)).toBe(status));
});
