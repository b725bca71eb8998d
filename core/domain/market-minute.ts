import { floorTo, MINUTE_MS } from './candle.js';
import type { Executed } from './chain-event.js';
import { E8 } from './pricing/units.js';

export interface Volume {
  /** Base units, 1e18. */
  readonly base: bigint;
  /** The number of executions. */
  readonly trades: number;
}

/** What was traded in one market in one minute, by all traders of the contract. */
export interface MarketMinute extends Volume {
  readonly pairIndex: number;
  /** Epoch ms of its start. */
  readonly time: number;
}

export const NO_VOLUME: Volume = { base: 0n, trades: 0 };

/** An execution that is not yet part of the minutes, or still part of them although a reorganisation has undone it. */
export interface UncountedTrade {
  readonly executed: Executed;
  readonly isOrphaned: boolean;
}

/** Whether an execution changed the size of a position: a change of leverage and a withdrawal of profit trade nothing. */
export const changesSize = ({ action }: Pick<Executed, 'action'>): boolean => action !== 'leverage' && action !== 'withdraw';

/** Base units at the collateral's price of the trade's opening, as in its fills; rounded down. */
export const baseOfExecution = ({ sizeToken, entryPriceUsd, collateralPriceUsd }: Executed): bigint =>
  ((sizeToken ?? 0n) * (entryPriceUsd ?? collateralPriceUsd ?? E8)) / E8;

/** What these executions add to the minutes they are in; an orphaned one is taken away. Ordered by market and time. */
export function minutesOf(trades: readonly UncountedTrade[]): MarketMinute[] {
  const minutes = new Map<string, MarketMinute>();
  for (const { executed, isOrphaned } of trades) {
    if (!changesSize(executed)) continue;
    const { pairIndex } = executed.terms;
    const time = floorTo(executed.place.at, MINUTE_MS);
    const key = `${pairIndex} ${time}`;
    const sign = isOrphaned ? -1 : 1;
    minutes.set(key, { pairIndex, time, ...addVolume(minutes.get(key), { base: BigInt(sign) * baseOfExecution(executed), trades: sign }) });
  }
  return [...minutes.values()].sort((a, b) => a.pairIndex - b.pairIndex || a.time - b.time);
}

export const addVolume = (a: Volume | undefined, b: Volume): Volume => ({
  base: (a?.base ?? 0n) + b.base,
  trades: (a?.trades ?? 0) + b.trades,
});
