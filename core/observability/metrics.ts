import type { Clock } from '../ports/clock.js';
import type { RelayStore } from '../ports/stores/relay.js';
import { METRICS, type MetricKey } from './metrics-table.js';

/** Metrics recorded while requests are served. Recording must be cheap: cached answers take microseconds. */
export type ApiName = 'native' | 'facade';
/** A post on a WebSocket connection counts as a request. */
export type Transport = 'http' | 'ws';

export interface Metrics {
  /** `operation` comes from a closed list, never from a client. */
  request(api: ApiName, operation: string, status: number, ms: number, transport?: Transport): void;
  /** The outcome in the facade's answer to an action; the status code is 200 either way. */
  action(action: string, outcome: 'ok' | 'err'): void;
  sessions(api: ApiName, change: 1 | -1): void;
  subscriptions(api: ApiName, change: number): void;
  /** Called on every scrape: bytes queued for slow readers. */
  watchBacklog(read: () => number): void;
  /** A promise was rejected and nothing handled it. */
  rejection(): void;
  /** Orders that became final. */
  finished(chain: string, status: string, count: number): void;
  /** A duration; the labels are those of the table. */
  took(metric: TimedMetric, labels: readonly string[], ms: number): void;
}

export type TimedMetric = 'orderSeconds' | 'relaySeconds' | 'journalLag';
export type Labels = Readonly<Record<string, string | number>>;

/** One metric with all its values, in Prometheus' model. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** `metricName` where it differs, as `_bucket`, `_sum` and `_count` of a histogram do. */
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly value: number;
  readonly labels: Labels;
  readonly metricName?: string;
}

export interface MetricsBook extends Metrics {
  families(): readonly MetricFamily[];
}

/** The family of a row of the table. */
export const familyOf = (key: MetricKey, values: readonly MetricValue[]): MetricFamily => {
  const { name, help, type } = METRICS[key];
  return { name, help, type, values };
};

export function histogramValues(key: MetricKey, labels: Labels, { bounds, counts, sum }: HistogramCounts): MetricValue[] {
  const { name } = METRICS[key];
  let count = 0;
  const cumulated = counts.map((own, at) => ({
    metricName: `${name}_bucket`,
    value: (count += own),
    labels: { ...labels, le: bounds[at] ?? '+Inf' },
  }));
  return [...cumulated, { metricName: `${name}_sum`, value: sum, labels }, { metricName: `${name}_count`, value: count, labels }];
}

/** Seconds, upper ends. */
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const STORY_BOUNDS: Readonly<Record<TimedMetric, readonly number[]>> = {
  orderSeconds: [0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 300, 3_600],
  relaySeconds: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 300],
  journalLag: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
};
const API_NAMES: readonly ApiName[] = ['native', 'facade'];

interface Slot {
  readonly labels: Labels;
  readonly codes: Map<number, number>;
  readonly seconds: Histogram;
}

/** Plain numbers in maps; they are converted for Prometheus on a scrape. */
export function createMetricsBook(): MetricsBook {
  const slots = { native: { http: newSlots(), ws: newSlots() }, facade: { http: newSlots(), ws: newSlots() } };
  const open = { sessions: { native: 0, facade: 0 }, subscriptions: { native: 0, facade: 0 } };
  const counts = { actions: createCounts(), finished: createCounts() };
  const timed = new Map<TimedMetric, Map<string, { readonly labels: Labels; readonly seconds: Histogram }>>();
  let backlog = (): number => 0;
  let rejections = 0;
  return {
    request(api, operation, status, ms, transport = 'http') {
      const own = slots[api][transport];
      let slot = own.get(operation);
      if (slot === undefined) own.set(operation, (slot = newSlot({ api, transport, operation })));
      slot.codes.set(status, (slot.codes.get(status) ?? 0) + 1);
      slot.seconds.observe(ms / 1_000);
    },
    action: (action, outcome) => counts.actions.add({ action, outcome }, 1),
    sessions: (api, change) => void (open.sessions[api] += change),
    subscriptions: (api, change) => void (open.subscriptions[api] += change),
    watchBacklog: (read) => void (backlog = read),
    rejection: () => void (rejections += 1),
    finished: (chain, status, count) => counts.finished.add({ chain, status }, count),
    took(metric, given, ms) {
      const own = timed.get(metric) ?? new Map<string, { labels: Labels; seconds: Histogram }>();
      timed.set(metric, own);
      const key = given.join(' ');
      let slot = own.get(key);
      if (slot === undefined) own.set(key, (slot = { labels: named(metric, given), seconds: createHistogram(STORY_BOUNDS[metric]) }));
      slot.seconds.observe(Math.max(ms, 0) / 1_000);
    },
    families() {
      const all = API_NAMES.flatMap((api) => [...slots[api].http.values(), ...slots[api].ws.values()]);
      const codesOf = ({ labels, codes }: Slot): MetricValue[] =>
        [...codes].map(([code, value]) => ({ value, labels: { ...labels, code } }));
      return [
        familyOf('requests', all.flatMap(codesOf)),
        familyOf(
          'latency',
          all.flatMap(({ labels, seconds }) => histogramValues('latency', labels, seconds)),
        ),
        familyOf('actions', counts.actions.values()),
        familyOf('sessions', apiValues(open.sessions)),
        familyOf('subscriptions', apiValues(open.subscriptions)),
        familyOf('backlog', [{ value: backlog(), labels: {} }]),
        familyOf('rejections', [{ value: rejections, labels: {} }]),
        familyOf('ordersOver', counts.finished.values()),
        ...TIMED.map((metric) => familyOf(metric, timedValues(metric, timed.get(metric)))),
      ];
    },
  };
}

const TIMED: readonly TimedMetric[] = ['orderSeconds', 'relaySeconds', 'journalLag'];
const newSlots = (): Map<string, Slot> => new Map();
const newSlot = (labels: Labels): Slot => ({ labels, codes: new Map(), seconds: createHistogram(REQUEST_BOUNDS) });
const named = (metric: TimedMetric, given: readonly string[]): Labels =>
  Object.fromEntries(METRICS[metric].labels.map((label, at) => [label, given[at] ?? '']));
const apiValues = (counts: Readonly<Record<ApiName, number>>): MetricValue[] =>
  API_NAMES.map((api) => ({ value: counts[api], labels: { api } }));

const timedValues = (
  metric: TimedMetric,
  slots: ReadonlyMap<string, { readonly labels: Labels; readonly seconds: Histogram }> = new Map(),
): MetricValue[] => [...slots.values()].flatMap(({ labels, seconds }) => histogramValues(metric, labels, seconds));

interface Counts {
  add(labels: Labels, count: number): void;
  values(): MetricValue[];
}

function createCounts(): Counts {
  const counts = new Map<string, { readonly labels: Labels; value: number }>();
  return {
    add(labels, count) {
      const key = Object.values(labels).join(' ');
      const known = counts.get(key);
      if (known) known.value += count;
      else counts.set(key, { labels, value: count });
    },
    values: () => [...counts.values()].map(({ labels, value }) => ({ labels, value })),
  };
}

/** `counts` has one more element than `bounds`, for values above all of them. */
export interface HistogramCounts {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export interface Histogram extends HistogramCounts {
  observe(value: number): void;
}

/** Fixed buckets in one array, so that an observation is cheap. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    observe(value) {
      let at = 0;
      while (at < bounds.length && value > (bounds[at] ?? Infinity)) at += 1;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += value;
    },
  };
}

/** Wraps the store: measures the time of jobs until a node accepts them, and from there until they are mined. */
export const measureRelay = (store: RelayStore, metrics: Pick<Metrics, 'took'>, clock: Pick<Clock, 'now'>): RelayStore => ({
  ...store,
  async accept(chain, ids, at) {
    const jobs = await store.accept(chain, ids, at);
    // A job that was sent again keeps its first acceptance time.
    for (const { acceptedAt, createdAt } of jobs) if (acceptedAt === at) metrics.took('relaySeconds', [chain, 'broadcast'], at - createdAt);
    return jobs;
  },
  async settle(chain, settled) {
    const jobs = await store.settle(chain, settled);
    const now = clock.now();
    for (const { acceptedAt } of jobs) if (acceptedAt !== null) metrics.took('relaySeconds', [chain, 'mined'], now - acceptedAt);
    return jobs;
  },
});
