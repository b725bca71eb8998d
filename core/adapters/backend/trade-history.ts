import type { MarketTrade } from '../../domain/market-trade.js';
import { GatewayError } from '../../errors.js';
import type { MarketFeed } from '../../ports/feed.js';
import type { Clock } from '../../ports/clock.js';
import { Refused, type Upstream } from './ask-upstream.js';
import { ShapeError } from './problems.js';
import { readTradeRow, type TradeRow } from './trade-wire.js';

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
