import type { ChainSlug } from '../../chains/chains.js';
import type { Candle } from '../../domain/candle.js';

/** One minute of one pair, with the moments (epoch ms) at which its first and its last price were said. */
export interface MinuteCandle extends Candle {
  readonly pairIndex: number;
  readonly openAt: number;
  readonly closeAt: number;
}

export interface StoredCandle extends Candle {
  /** How many minutes it was made of. */
  readonly minutes: number;
}

export interface CandleStore {
  /**
   * Joins minutes into what is known of them: the first price said opens, the last one closes, the extremes stand. Order, repetition
   * and the number of writers make no difference.
   */
  merge(chain: ChainSlug, minutes: readonly MinuteCandle[]): Promise<void>;
  /** Candles of `sizeMs` that open in [from, to), ascending, gaps left as they are; both ends are multiples of the size. */
  read(query: CandleRange): Promise<readonly StoredCandle[]>;
  /** By pair: the last close (1e10) before a moment, where there is a minute no older than `lookBackMs`. */
  closesBefore(chain: ChainSlug, at: number, lookBackMs: number): Promise<ReadonlyMap<number, bigint>>;
  /** Forgets minutes that opened before. */
  prune(chain: ChainSlug, before: number): Promise<void>;
}

export interface CandleRange {
  readonly chain: ChainSlug;
  readonly pairIndex: number;
  readonly from: number;
  readonly to: number;
  readonly sizeMs: number;
}
