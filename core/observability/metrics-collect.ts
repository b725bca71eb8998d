import type { Gateway, Venue } from '../gateway.js';
import { familyOf, histogramValues, type Labels, type MetricFamily, type MetricValue } from './metrics.js';
import { continuityFamilies } from './lost-commits.js';
import { createRelayFamilies } from './metrics-relayer.js';
import { CHAIN_PARTS, readiness, type Readiness } from './readiness.js';
import type { JournalDepth } from '../ports/stores/alerts.js';
import { FEED_PARTS } from '../ports/feed.js';

/** All metrics except those of the process. Figures from the database are the same on every replica. */
export function createMetricsCollector(gateway: Gateway, node: string): () => Promise<readonly MetricFamily[]> {
  const venues = [...gateway.venues.values()];
  const relayFamilies = createRelayFamilies(gateway, venues);
  const journal = createJournalFamilies(gateway);
  const { version, commit, mode } = gateway;
  const build = familyOf('build', [{ value: 1, labels: { version, commit, mode, node } }]);
  /** If the database does not answer, only its own figures are missing. */
  const stored = async (): Promise<MetricFamily[]> => {
    try {
      return (await Promise.all([relayFamilies(), countFamilies(gateway), journal.depth()])).flat();
    } catch (error) {
      gateway.log.warn('metrics.store-failed', { error });
      return [];
    }
  };
  return async () => {
    const ready = await readiness(gateway);
    return [
      build,
      ...readyFamilies(ready),
      ...continuityFamilies(gateway),
      ...gateway.metrics.families(),
      ...chainFamilies(gateway, venues),
      ...(await poolFamilies(gateway)),
      await journal.readAge(),
      ...(ready.database.ready ? await stored() : []),
    ];
  };
}

function readyFamilies({ ready, database, chains }: Readiness): MetricFamily[] {
  const parts = Object.entries(chains).flatMap(([chain, { faults, relayer }]): MetricValue[] =>
    CHAIN_PARTS.flatMap((part) =>
      part === 'relayer' && relayer === null ? [] : [{ value: faults[part].length === 0 ? 1 : 0, labels: { chain, part } }],
    ),
  );
  return [
    familyOf('ready', [{ value: ready ? 1 : 0, labels: {} }]),
    familyOf('storeUp', [{ value: database.ready ? 1 : 0, labels: {} }]),
    familyOf('partReady', [{ value: database.ready ? 1 : 0, labels: { chain: 'all', part: 'database' } }, ...parts]),
  ];
}

async function poolFamilies({ store: { metrics } }: Gateway): Promise<MetricFamily[]> {
  const { used, idle, opening, most, waiting, waitSeconds } = await metrics.pool();
  return [
    familyOf(
      'poolConnections',
      Object.entries({ used, idle, opening }).map(([state, value]) => ({ value, labels: { state } })),
    ),
    familyOf('poolMost', [{ value: most, labels: {} }]),
    familyOf('poolWaiting', [{ value: waiting, labels: {} }]),
    familyOf('poolWait', histogramValues('poolWait', {}, waitSeconds)),
  ];
}

async function countFamilies({ store: { metrics } }: Gateway): Promise<MetricFamily[]> {
  const [orders, alerts, deliveries] = await Promise.all([metrics.liveOrders(), metrics.openAlerts(), metrics.undelivered()]);
  const values = (rows: readonly (Readonly<Record<string, string | number>> & { readonly count: number })[]): MetricValue[] =>
    rows.map(({ count, ...labels }) => ({ value: count, labels }));
  return [familyOf('orders', values(orders)), familyOf('alertsOpen', values(alerts)), familyOf('deliveries', values(deliveries))];
}

/** Counting reads a row of every account, some tens of ms for 200,000 of them, so the result is cached. */
const DEPTH_KEPT_MS = 60_000;

interface JournalFamilies {
  /** From the database: the same on every replica. */
  depth(): Promise<MetricFamily>;
  /** Of this replica. Reads memory only, because it matters most while the database does not answer. */
  readAge(): Promise<MetricFamily>;
}

/** Size of the journals, and how far this replica is behind. */
function createJournalFamilies({ store: { metrics, journal }, clock }: Gateway): JournalFamilies {
  let kept: { readonly at: number; readonly entries: readonly JournalDepth[] } | null = null;
  return {
    async depth() {
      const now = clock.now();
      if (kept === null || now - kept.at >= DEPTH_KEPT_MS) kept = { at: now, entries: await metrics.journalEntries() };
      return familyOf(
        'journalEntries',
        kept.entries.map(({ chain, count }) => ({ value: count, labels: { chain } })),
      );
    },
    async readAge() {
      const ms = await journal.heardAgo();
      return familyOf('journalAge', ms === null ? [] : [{ value: ms / 1_000, labels: {} }]);
    },
  };
}

interface Figure {
  readonly value: number | null;
  readonly labels?: Labels;
}

/** Chain metrics from memory. */
function chainFamilies({ clock }: Gateway, venues: readonly Venue[]): MetricFamily[] {
  const seconds = (since: number | null): number | null => (since === null ? null : (clock.now() - since) / 1_000);
  const each = (read: (venue: Venue) => readonly Figure[]): MetricValue[] => perChain(venues, read);
  return [
    familyOf(
      'headBlock',
      each(({ state }) => [{ value: state.head === null ? null : Number(state.head.block.number) }]),
    ),
    familyOf(
      'headAge',
      each(({ state }) => [{ value: seconds(state.head?.seenAt ?? null) }]),
    ),
    familyOf(
      'lagBlocks',
      each((venue) => [{ value: lagOf(venue) }]),
    ),
    familyOf(
      'lagSeconds',
      each((venue) => [{ value: lagOf(venue) === 0 ? 0 : seconds(venue.state.followed.caughtUpAt) }]),
    ),
    ...feedFamilies(each),
    ...nodeFamilies(venues, each),
  ];
}

type Each = (read: (venue: Venue) => readonly Figure[]) => MetricValue[];

function feedFamilies(each: Each): MetricFamily[] {
  const parts = (read: (part: ReturnType<Venue['feed']['status']>['parts']['price']) => number | null): MetricValue[] =>
    each(({ feed }) => {
      const status = feed.status();
      return FEED_PARTS.map((part) => ({ value: read(status.parts[part]), labels: { part } }));
    });
  return [
    familyOf(
      'feedUp',
      parts(({ state }) => (state === 'absent' ? null : state === 'ok' ? 1 : 0)),
    ),
    familyOf(
      'feedAge',
      parts(({ ageMs }) => (ageMs === null ? null : ageMs / 1_000)),
    ),
  ];
}

function nodeFamilies(venues: readonly Venue[], each: Each): MetricFamily[] {
  return [
    familyOf(
      'rpcRequests',
      each(({ chain }) =>
        chain.traffic().flatMap(({ host, answered, failed }) => [
          { value: answered, labels: { endpoint: host, outcome: 'answered' } },
          { value: failed, labels: { endpoint: host, outcome: 'failed' } },
        ]),
      ),
    ),
    familyOf(
      'rpcCalls',
      each(({ chain }) =>
        chain.traffic().flatMap(({ host, methods }) =>
          methods.flatMap(({ method, answered, refused, failed }) =>
            Object.entries({ answered, refused, failed }).map(([outcome, value]) => ({
              value,
              labels: { endpoint: host, method, outcome },
            })),
          ),
        ),
      ),
    ),
    familyOf('rpcLatency', venues.flatMap(callTimes)),
    familyOf(
      'endpointUp',
      each(({ chain }) => chain.endpoints().map(({ host, state }) => ({ value: state === 'ok' ? 1 : 0, labels: { endpoint: host } }))),
    ),
    familyOf(
      'endpointHead',
      each(({ chain }) =>
        chain.endpoints().map(({ host, head }) => ({ value: head === null ? null : Number(head), labels: { endpoint: host } })),
      ),
    ),
  ];
}

const callTimes = ({ chain, definition: { slug } }: Venue): MetricValue[] =>
  chain
    .traffic()
    .flatMap(({ host, methods }) =>
      methods.flatMap(({ method, seconds }) => histogramValues('rpcLatency', { chain: slug, endpoint: host, method }, seconds)),
    );

const perChain = (venues: readonly Venue[], read: (venue: Venue) => readonly Figure[]): MetricValue[] =>
  venues.flatMap((venue) =>
    read(venue).flatMap(({ value, labels = {} }) =>
      value === null ? [] : [{ value, labels: { chain: venue.definition.slug, ...labels } }],
    ),
  );

function lagOf({ state: { head, followed } }: Venue): number | null {
  return head === null || followed.block === null ? null : Math.max(0, Number(head.block.number - followed.block));
}
