/** What is counted while requests are served. It has to cost next to nothing: hot answers take microseconds themselves. */
export type DoorName = 'native' | 'facade';

export interface Metrics {
  /** `operation` comes from a closed list, never from a client. */
  request(door: DoorName, operation: string, status: number, ms: number): void;
  sessions(door: DoorName, change: 1 | -1): void;
  subscriptions(door: DoorName, change: number): void;
}

export type Labels = Readonly<Record<string, string | number>>;

/** One metric with all its values, as Prometheus tells them. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** `metricName` where it differs, as `_bucket`, `_sum` and `_count` of a histogram do. */
  readonly values: readonly { readonly value: number; readonly labels: Labels; readonly metricName?: string }[];
}

export interface MetricsBook extends Metrics {
  families(): readonly MetricFamily[];
}

/** Seconds, upper ends. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const DOORS: readonly DoorName[] = ['native', 'facade'];

interface Slot {
  readonly codes: Map<number, number>;
  /** One more than bounds: the last holds what is above all of them. */
  readonly buckets: number[];
  sum: number;
}

const newSlot = (): Slot => ({ codes: new Map(), buckets: new Array<number>(BOUNDS.length + 1).fill(0), sum: 0 });

function bucketOf(seconds: number): number {
  let at = 0;
  while (at < BOUNDS.length && seconds > (BOUNDS[at] ?? Infinity)) at += 1;
  return at;
}

/** Plain numbers in plain maps; what they mean to Prometheus is worked out when it asks. */
export function createMetricsBook(): MetricsBook {
  const slots: Readonly<Record<DoorName, Map<string, Slot>>> = { native: new Map(), facade: new Map() };
  const open = { sessions: { native: 0, facade: 0 }, subscriptions: { native: 0, facade: 0 } };
  return {
    request(door, operation, status, ms) {
      let slot = slots[door].get(operation);
      if (slot === undefined) slots[door].set(operation, (slot = newSlot()));
      slot.codes.set(status, (slot.codes.get(status) ?? 0) + 1);
      const seconds = ms / 1_000;
      const at = bucketOf(seconds);
      slot.buckets[at] = (slot.buckets[at] ?? 0) + 1;
      slot.sum += seconds;
    },
    sessions: (door, change) => void (open.sessions[door] += change),
    subscriptions: (door, change) => void (open.subscriptions[door] += change),
    families() {
      const all = DOORS.flatMap((door) => [...slots[door]].map(([operation, slot]) => ({ labels: { door, operation }, slot })));
      return [
        {
          ...REQUESTS,
          values: all.flatMap(({ labels, slot }) => [...slot.codes].map(([code, value]) => ({ value, labels: { ...labels, code } }))),
        },
        { ...LATENCY, values: all.flatMap(({ labels, slot }) => histogramOf(labels, slot)) },
        { ...SESSIONS, values: DOORS.map((door) => ({ value: open.sessions[door], labels: { door } })) },
        { ...SUBSCRIPTIONS, values: DOORS.map((door) => ({ value: open.subscriptions[door], labels: { door } })) },
      ];
    },
  };
}

function histogramOf(labels: Labels, { buckets, sum }: Slot): MetricFamily['values'][number][] {
  let count = 0;
  const cumulated = buckets.map((own, at) => ({
    metricName: `${LATENCY.name}_bucket`,
    value: (count += own),
    labels: { ...labels, le: BOUNDS[at] ?? '+Inf' },
  }));
  return [
    ...cumulated,
    { metricName: `${LATENCY.name}_sum`, value: sum, labels },
    { metricName: `${LATENCY.name}_count`, value: count, labels },
  ];
}

const REQUESTS = {
  name: 'gateway_http_requests_total',
  help: 'Requests answered, by door, operation and status code.',
  type: 'counter',
} as const;
const LATENCY = { name: 'gateway_http_request_seconds', help: 'Time from a request to its answer.', type: 'histogram' } as const;
const SESSIONS = { name: 'gateway_sockets', help: 'WebSocket connections that are open.', type: 'gauge' } as const;
const SUBSCRIPTIONS = { name: 'gateway_subscriptions', help: 'Subscriptions of all open WebSocket connections.', type: 'gauge' } as const;
