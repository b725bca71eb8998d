import { E18 } from '../../domain/pricing/units.js';
import type { MarketTrade, TradeAction } from '../../domain/market.js';
import { GatewayError } from '../../errors.js';
import type { MarketFeed } from '../../ports/feed.js';
import type { Clock } from '../../ports/clock.js';
import { Refused, type Upstream } from './ask-upstream.js';
import { epochMs, field, integer, ShapeError, wireUnits } from './wire.js';
import { readPrice } from './price-book.js';

export interface TradeHistoryOptions {
  readonly globalUrl: string;
  readonly chainId: number;
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Null for a pair that is not listed. */
  readonly pairIndexOf: (name: string) => number | null;
  onTrade(trade: MarketTrade): void;
}

export interface TradeHistory extends Pick<MarketFeed, 'recentTrades'> {
  /** Adds a row of the event stream. */
  add(row: unknown): void;
  /** Invalidates the cache: the next query goes upstream. */
  forget(): void;
  /** Epoch ms; null before the first answer. */
  askedAt(): number | null;
}

type Known = TradeRow & MarketTrade;

const TTL_MS = 60_000;
const STRETCH = 10;
const MAX_PER_PAIR = 500;
const MAX_ROWS = 200_000;
/** How long upstream may take to include a streamed execution in its history. */
const LATE_MS = 120_000;

/** The last day of every pair: fetched on demand, updated by the event stream in between. */
export function createTradeHistory(options: TradeHistoryOptions): TradeHistory {
  const { clock, upstream } = options;
  const url = `${options.globalUrl}/api/trading-history/24h?chainId=${options.chainId}`;
  let byPair = new Map<number, Known[]>();
  /** Recently streamed rows, oldest first. */
  let streamed: { readonly row: Known; readonly receivedAt: number }[] = [];
  let askedAt: number | null = null;
  let refreshing: Promise<void> | null = null;

  const placed = (row: TradeRow): Known | null => {
    const pairIndex = options.pairIndexOf(row.pair);
    return pairIndex === null ? null : { ...row, pairIndex };
  };

  const read = (body: unknown): Known[] => {
    if (!Array.isArray(body) || body.length > MAX_ROWS) throw new ShapeError('the history is not a list');
    return body.flatMap((row: unknown) => {
      const known = readTradeRow(row);
      return (known && placed(known)) ?? [];
    });
  };

  const refresh = async (): Promise<void> => {
    const started = clock.now();
    const rows = await upstream.ask(url, read);
    streamed = streamed.filter(({ receivedAt }) => receivedAt >= started - LATE_MS);
    byPair = sorted([...rows, ...streamed.map(({ row }) => row)]);
    askedAt = started;
  };

  const refreshOnce = (): Promise<void> => (refreshing ??= refresh().finally(() => (refreshing = null)));

  const freshen = async (): Promise<void> => {
    const age = askedAt === null ? Infinity : clock.now() - askedAt;
    if (age <= TTL_MS) return;
    try {
      await refreshOnce();
    } catch (error) {
      if (age <= STRETCH * TTL_MS) return;
      throw error instanceof Refused ? new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'history' }, { cause: error }) : error;
    }
  };

  return {
    async recentTrades({ pairIndex, limit }) {
      await freshen();
      return (byPair.get(pairIndex) ?? []).slice(0, limit);
    },
    add(given) {
      const row = readTradeRow(given);
      const known = row && placed(row);
      if (!known) return;
      const list = byPair.get(known.pairIndex) ?? [];
      if (list.some(({ key }) => key === known.key)) return;
      byPair.set(known.pairIndex, newestFirst([...list, known]));
      streamed = [...streamed.filter(({ receivedAt }) => receivedAt >= clock.now() - LATE_MS), { row: known, receivedAt: clock.now() }];
      options.onTrade(known);
    },
    forget() {
      streamed = [];
      askedAt = null;
    },
    askedAt: () => askedAt,
  };
}

const newestFirst = (rows: readonly Known[]): Known[] =>
  [...rows].sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)).slice(0, MAX_PER_PAIR);

function sorted(rows: readonly Known[]): Map<number, Known[]> {
  const byPair = new Map<number, Map<string, Known>>();
  for (const row of rows) {
    const list = byPair.get(row.pairIndex) ?? new Map<string, Known>();
    byPair.set(row.pairIndex, list.set(row.key, row));
  }
  return new Map([...byPair].map(([pairIndex, list]) => [pairIndex, newestFirst([...list.values()])]));
}

/** A row of the public history, before its pair is resolved. */
interface TradeRow extends Omit<MarketTrade, 'pairIndex'> {
  /** `BASE/QUOTE`, as the protocol lists the pair. */
  readonly pair: string;
  /** Equal for the same execution, from any source. */
  readonly key: string;
  /** Orders executions of the same time. */
  readonly id: bigint;
}

const ACTIONS: Readonly<Record<string, TradeAction>> = {
  TradeOpenedMarket: 'open',
  TradeOpenedLimit: 'open',
  TradeClosedMarket: 'close',
  TradeClosedTP: 'tp',
  TradeClosedSL: 'sl',
  TradeClosedLIQ: 'liquidation',
  TradeLeverageUpdate: 'leverage',
  TradePosSizeIncrease: 'increase',
  TradePosSizeDecrease: 'decrease',
};

const PAIR = /^[A-Za-z0-9._&-]{1,32}\/[A-Za-z0-9._&-]{1,32}$/;
const HASH = /^0x[0-9a-fA-F]{64}$/;
const SCALE = 18;

/** Null for a malformed row, or one that is no execution. */
export function readTradeRow(row: unknown): TradeRow | null {
  const [name, pair, txHash] = [field(row, 'action'), field(row, 'pair'), field(row, 'tx')];
  const action = typeof name === 'string' && Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  const [at, price, isLong] = [epochMs(field(row, 'date')), readPrice(field(row, 'price')), truth(field(row, 'long'))];
  if (action === undefined || typeof pair !== 'string' || !PAIR.test(pair)) return null;
  if (typeof txHash !== 'string' || !HASH.test(txHash)) return null;
  const sizeUsd = tradedUsd(row, action);
  if (at === null || price === null || isLong === null || sizeUsd === null) return null;
  const key = [txHash, action, price, ...IDENTITY.map((part) => textOf(field(row, part)))].join(' ');
  const named = { pair, key, id: integer(field(row, 'id')) ?? 0n };
  return { ...named, price, sizeUsd, side: isLong ? 'long' : 'short', action, at, txHash, ...profitOf(row), ...traderOf(row) };
}

const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 64) : '');

const IDENTITY = ['address', 'tradeIndex', 'size', 'leverage'] as const;

/** Upstream sends booleans in several forms. */
function truth(value: unknown): boolean | null {
  if (value === true || value === 1 || value === '1' || value === 'true') return true;
  return value === false || value === 0 || value === '0' || value === 'false' ? false : null;
}

const amount = (row: unknown, key: string): bigint | null => {
  const units = wireUnits(field(row, key), SCALE);
  return units !== null && units >= 0n ? units : null;
};

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

function traderOf(row: unknown): Pick<MarketTrade, 'trader'> {
  const trader = field(row, 'address');
  return typeof trader === 'string' && ADDRESS.test(trader) ? { trader } : {};
}

/** 1e18 USD. */
function profitOf(row: unknown): Pick<MarketTrade, 'pnlUsd'> {
  const [pnl, price] = [wireUnits(field(row, 'pnl'), SCALE), amount(row, 'collateralPriceUsd')];
  return pnl === null || price === null ? {} : { pnlUsd: (pnl * price) / E18 };
}

/** 1e18 USD. An increase or a decrease trades its deltas, anything else the whole position. */
function tradedUsd(row: unknown, action: TradeAction): bigint | null {
  const [collateral, leverage, price] = [amount(row, 'size'), amount(row, 'leverage'), amount(row, 'collateralPriceUsd')];
  if (collateral === null || leverage === null || price === null) return null;
  const deltas = { collateral: amount(row, 'collateralDelta') ?? 0n, leverage: amount(row, 'leverageDelta') ?? 0n };
  const isPart = (action === 'increase' || action === 'decrease') && deltas.collateral + deltas.leverage > 0n;
  const traded = isPart
    ? (deltas.collateral || collateral) * (action === 'decrease' && deltas.collateral > 0n ? leverage : deltas.leverage || leverage)
    : collateral * leverage;
  return (traded * price) / E18 / E18;
}
