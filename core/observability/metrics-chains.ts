import type { Gateway, Venue } from '../gateway.js';
import { familyOf, histogramValues, type Labels, type MetricFamily, type MetricValue } from './metrics.js';
import { FEED_PARTS } from '../ports/feed.js';

interface Figure {
  readonly value: number | null;
  readonly labels?: Labels;
}

/** Chain metrics from memory. */
export function chainFamilies({ clock }: Gateway, venues: readonly Venue[]): MetricFamily[] {
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
