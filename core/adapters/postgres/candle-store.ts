import type { Knex } from 'knex';
import type { Volume } from '../../domain/market-minute.js';
import type { CandleRange, CandleStore, MinuteCandle, StoredCandle } from '../../ports/stores/candles.js';

/** Of two prices with the same time the lower opens and the higher closes, so that the result does not depend on the order of writers. */
const MERGE = `
  insert into candles as kept (chain, pair_index, time, open, high, low, close, open_at, close_at)
  select ?, * from unnest(?::integer[], ?::bigint[], ?::numeric[], ?::numeric[], ?::numeric[], ?::numeric[], ?::bigint[], ?::bigint[])
  on conflict (chain, pair_index, time) do update set
    open = case when (excluded.open_at, excluded.open) < (kept.open_at, kept.open) then excluded.open else kept.open end,
    high = greatest(kept.high, excluded.high),
    low = least(kept.low, excluded.low),
    close = case when (excluded.close_at, excluded.close) > (kept.close_at, kept.close) then excluded.close else kept.close end,
    open_at = least(kept.open_at, excluded.open_at),
    close_at = greatest(kept.close_at, excluded.close_at)
  where (excluded.open_at, excluded.open) < (kept.open_at, kept.open)
    or (excluded.close_at, excluded.close) > (kept.close_at, kept.close)
    or excluded.high > kept.high or excluded.low < kept.low`;

const READ = `
  select time / ?::bigint * ?::bigint as slot, count(*)::integer as minutes,
    (array_agg(open order by time))[1] as open, max(high) as high, min(low) as low, (array_agg(close order by time desc))[1] as close
  from candles where chain = ? and pair_index = ? and time >= ? and time < ?
  group by slot order by slot`;

const VOLUMES = `
  select time / ?::bigint * ?::bigint as slot, sum(base)::text as base, sum(trades)::integer as trades
  from market_minutes where chain = ? and pair_index = ? and time >= ? and time < ? group by slot`;

const UNCOUNTED = `select exists (select from chain_events where chain = ? and is_fill and counted = orphaned) as has_some`;

/** One index lookup per pair, however many minutes are stored. */
const CLOSES = `
  with recursive pairs as (
    (select pair_index from candles where chain = :chain order by pair_index limit 1)
    union all
    select (select pair_index from candles where chain = :chain and candles.pair_index > pairs.pair_index order by pair_index limit 1)
    from pairs where pairs.pair_index is not null
  )
  select pair_index, last.close from pairs cross join lateral (
    select close from candles where chain = :chain and candles.pair_index = pairs.pair_index and time >= :from and time < :to
    order by time desc limit 1
  ) as last where pair_index is not null`;

interface Row {
  readonly slot: bigint;
  readonly minutes: number;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
}

interface VolumeRow {
  readonly slot: bigint;
  readonly base: string;
  readonly trades: number;
}

/** Rows per statement. */
const BATCH = 5_000;

export function createCandleStore(db: Knex) {
  return {
    async merge(chain, minutes) {
      // All writers use the same order, so that they cannot deadlock.
      const sorted = [...minutes].sort((a, b) => a.pairIndex - b.pairIndex || a.time - b.time);
      for (let from = 0; from < sorted.length; from += BATCH) await db.raw(MERGE, [chain, ...columns(sorted.slice(from, from + BATCH))]);
    },
    async read({ chain, pairIndex, from, to, sizeMs }: CandleRange): Promise<StoredCandle[]> {
      const { rows } = await db.raw<{ rows: Row[] }>(READ, [sizeMs, sizeMs, chain, pairIndex, from, to]);
      return rows.map(stored);
    },
    async volumes({ chain, pairIndex, from, to, sizeMs }: CandleRange) {
      const { rows } = await db.raw<{ rows: VolumeRow[] }>(VOLUMES, [sizeMs, sizeMs, chain, pairIndex, from, to]);
      return new Map(rows.map(({ slot, base, trades }): [number, Volume] => [Number(slot), { base: BigInt(base), trades }]));
    },
    async hasUncounted(chain) {
      const { rows } = await db.raw<{ rows: [{ has_some: boolean }] }>(UNCOUNTED, [chain]);
      return rows[0].has_some;
    },
    async closesBefore(chain, at, lookBackMs) {
      const { rows } = await db.raw<{ rows: { pair_index: number; close: string }[] }>(CLOSES, {
        chain,
        from: at - lookBackMs,
        to: at,
      });
      return new Map(rows.map(({ pair_index, close }) => [pair_index, BigInt(close)]));
    },
    async prune(chain, before) {
      for (let gone = PRUNED_AT_ONCE; gone === PRUNED_AT_ONCE;)
        gone = (await db.raw<{ rowCount: number }>(PRUNE, [chain, before])).rowCount;
    },
  } satisfies CandleStore;
}

/** Deletes in chunks that fit the statement timeout, however large the backlog is. */
const PRUNED_AT_ONCE = 20_000;
const PRUNE = `
  delete from candles where ctid = any (array(
    select ctid from candles where chain = ? and time < ? limit ${PRUNED_AT_ONCE} for update skip locked))`;

const columns = (minutes: readonly MinuteCandle[]): (number[] | string[])[] => [
  minutes.map(({ pairIndex }) => pairIndex),
  minutes.map(({ time }) => time),
  minutes.map(({ open }) => open.toString()),
  minutes.map(({ high }) => high.toString()),
  minutes.map(({ low }) => low.toString()),
  minutes.map(({ close }) => close.toString()),
  minutes.map(({ openAt }) => openAt),
  minutes.map(({ closeAt }) => closeAt),
];

const stored = ({ slot, minutes, open, high, low, close }: Row): StoredCandle => ({
  time: Number(slot),
  minutes,
  open: BigInt(open),
  high: BigInt(high),
  low: BigInt(low),
  close: BigInt(close),
});
