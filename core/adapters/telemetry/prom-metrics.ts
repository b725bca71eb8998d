import { collectDefaultMetrics, Registry } from 'prom-client';
import { familyOf, type MetricFamily } from '../../observability/metrics.js';
import type { Clock } from '../../ports/clock.js';
import { watchEventLoop } from './event-loop-delay.js';

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
