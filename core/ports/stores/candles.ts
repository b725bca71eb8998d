import type { ChainSlug } from '../../chains/chains.js';
import type { Candle } from '../../domain/candle.js';
import type { Volume } from '../../domain/market-minute.js';

/** One minute of one pair, with the times (epoch ms) of its first and last price. */
export interface MinuteCandle extends Candle {
  readonly pairIndex: number;
  readonly openAt: number;
  readonly closeAt: number;
}

export interface StoredCandle extends Candle {
  /** How many minutes it aggregates. */
  readonly minutes: number;
}

export interface CandleStore {
  /**
   * Merges minutes into the stored ones: the earliest price opens, the latest closes, the extremes are kept. The result does not depend on
   * order, repetition or the number of writers.
   */
  merge(chain: ChainSlug, minutes: readonly MinuteCandle[]): Promise<void>;
  /** Candles of `sizeMs` that open in [from, to), ascending, gaps not filled; both ends are multiples of the size. */
  read(query: CandleRange): Promise<readonly StoredCandle[]>;
  /** What was traded in [from, to), by the start of each interval of `sizeMs` with a trade; both ends are multiples of the size. */
  volumes(query: CandleRange): Promise<ReadonlyMap<number, Volume>>;
  /** Whether executions are stored that no minute has yet: they are counted without an entry in the journal. */
  hasUncounted(chain: ChainSlug): Promise<boolean>;
  /** By pair: the last close (1e10) before a time, where there is a minute no older than `lookBackMs`. */
  closesBefore(chain: ChainSlug, at: number, lookBackMs: number): Promise<ReadonlyMap<number, bigint>>;
  /** Deletes minutes that opened before. */
  prune(chain: ChainSlug, before: number): Promise<void>;
}

export interface CandleRange {
  readonly chain: ChainSlug;
  readonly pairIndex: number;
  readonly from: number;
  readonly to: number;
  readonly sizeMs: number;
}
