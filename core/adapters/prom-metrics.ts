import { collectDefaultMetrics, Registry } from 'prom-client';
import type { MetricFamily } from '../metrics.js';

export interface RenderedMetrics {
  readonly type: string;
  readonly text: string;
}

/** Tells Prometheus, in its own words, what is collected and how the process itself is. Nothing is watched before somebody asks. */
export function createPromMetrics(collect: () => Promise<readonly MetricFamily[]>): () => Promise<RenderedMetrics> {
  let process: Registry | null = null;
  const watchProcess = (): Registry => {
    const register = new Registry();
    collectDefaultMetrics({ register, prefix: 'gateway_' });
    return register;
  };
  return async () => {
    process ??= watchProcess();
    const ours = new Registry();
    for (const family of await collect()) ours.registerMetric(asMetric(family));
    const [own, ofProcess] = await Promise.all([ours.metrics(), process.metrics()]);
    return { type: ours.contentType, text: `${own}${ofProcess}` };
  };
}

/** The registry asks a metric for its name and its values and nothing else. */
const asMetric = (family: MetricFamily): Parameters<Registry['registerMetric']>[0] =>
  ({ name: family.name, get: () => Promise.resolve({ ...family, aggregator: 'sum' }) }) as unknown as Parameters<
    Registry['registerMetric']
  >[0];
