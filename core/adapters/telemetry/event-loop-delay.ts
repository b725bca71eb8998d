import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;
const NANOSECONDS = 1e9;
export const DELAY_QUANTILES = [0.5, 0.99, 1] as const;

/** Watches from now on. Each answer is about the time since the one before: seconds too late, by quantile. */
export function watchEventLoop(): () => readonly { readonly quantile: number; readonly seconds: number }[] {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  return () => {
    const found = DELAY_QUANTILES.map((quantile) => ({ quantile, seconds: tooLate(delays.percentile(quantile * 100)) }));
    delays.reset();
    return found;
  };
}

/** What is measured is the time between two ticks of a timer, of which its own pace is no delay. */
const tooLate = (nanoseconds: number): number =>
  Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1_000) : 0;
