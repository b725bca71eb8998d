import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;
const NANOSECONDS = 1e9;
export const DELAY_QUANTILES = [0.5, 0.99, 1] as const;

/** Starts measuring. Each call returns the delays since the previous call, in seconds by quantile. */
export function watchEventLoop(): () => readonly { readonly quantile: number; readonly seconds: number }[] {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  return () => {
    const found = DELAY_QUANTILES.map((quantile) => ({ quantile, seconds: tooLate(delays.percentile(quantile * 100)) }));
    delays.reset();
    return found;
  };
}

/** Delays are measured between two timer ticks, so the timer's own interval is subtracted. */
const tooLate = (nanoseconds: number): number =>
  Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1_000) : 0;
