import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { familyOf, type MetricFamily } from '../../observability/metrics.js';
import type { Clock } from '../../ports/clock.js';

export interface RenderedMetrics {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Metrics are collected at most once in this time. */
const KEPT_MS = 1_000;

/** Renders the collected metrics and those of the process for Prometheus. Process metrics start with the first scrape. */
export function createPromMetrics(
  collect: () => Promise<readonly MetricFamily[]>,
  clock: Pick<Clock, 'now'>,
): () => Promise<RenderedMetrics> {
  let watched: Watched | null = null;
  let kept: { readonly at: number; readonly rendered: Promise<RenderedMetrics> } | null = null;
  let isRendering = false;
  const render = async (): Promise<RenderedMetrics> => {
    watched ??= watchProcess();
    const ours = new Registry();
    for (const family of [...(await collect()), watched.loop()]) ours.registerMetric(asMetric(family));
    const [own, ofProcess] = await Promise.all([ours.metrics(), watched.register.metrics()]);
    return { type: ours.contentType, bytes: Buffer.from(`${own}${ofProcess}`) };
  };
  return () => {
    const now = clock.now();
    if (kept !== null && (isRendering || Math.abs(now - kept.at) < KEPT_MS)) return kept.rendered;
    isRendering = true;
    const rendered = render().finally(() => (isRendering = false));
    kept = { at: now, rendered };
    rendered.catch(() => (kept = null));
    return rendered;
  };
}

interface Watched {
  readonly register: Registry;
  readonly loop: () => MetricFamily;
}

function watchProcess(): Watched {
  const register = new Registry();
  collectDefaultMetrics({ register, prefix: 'gateway_' });
  const delays = watchEventLoop();
  const loop = (): MetricFamily =>
    familyOf(
      'loopDelay',
      delays().map(({ quantile, seconds }) => ({ value: seconds, labels: { quantile } })),
    );
  return { register, loop };
}

/** The registry uses only the name and the values of a metric. */
const asMetric = (family: MetricFamily): Parameters<Registry['registerMetric']>[0] =>
  ({ name: family.name, get: () => Promise.resolve({ ...family, aggregator: 'sum' }) }) as unknown as Parameters<
    Registry['registerMetric']
  >[0];

const RESOLUTION_MS = 10;
const NANOSECONDS = 1e9;
const DELAY_QUANTILES = [0.5, 0.99, 1] as const;

/** Starts measuring. Each call returns the delays since the previous call, in seconds by quantile. */
function watchEventLoop(): () => readonly { readonly quantile: number; readonly seconds: number }[] {
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
