import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

export interface Refresh {
  /** Run at once; while a run is under way or was a moment ago, once more after it, however often it is asked. */
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
