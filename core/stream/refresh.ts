import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

export interface Refresh {
  /** Runs at once; during a run or within `gapMs` after it, requests are merged into one further run. */
  ask(): void;
  readonly stop: Cancel;
}

export function createRefresh(clock: Clock, gapMs: number, run: () => Promise<void>): Refresh {
  let isAsked = false;
  let isBusy = false;
  let isStopped = false;
  let cancel: Cancel = () => undefined;

  const begin = (): void => {
    isBusy = true;
    isAsked = false;
    void run().finally(() => {
      if (!isStopped) cancel = clock.after(gapMs, rest);
    });
  };

  const rest = (): void => {
    isBusy = false;
    if (isAsked) begin();
  };

  return {
    ask() {
      isAsked = true;
      if (!isBusy && !isStopped) begin();
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
