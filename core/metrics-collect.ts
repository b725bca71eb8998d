import type { Gateway, Venue } from './gateway.js';
import type { Labels, MetricFamily } from './metrics.js';
import { readWallets } from './relay/wallet-figures.js';

const WEI = 1e18;
type Value = MetricFamily['values'][number];

const gauge = (name: string, help: string, values: readonly Value[]): MetricFamily => ({
  name: `gateway_${name}`,
  help,
  type: 'gauge',
  values,
});
const counter = (name: string, help: string, values: readonly Value[]): MetricFamily => ({
  name: `gateway_${name}`,
  help,
  type: 'counter',
  values,
});
const perChain = (
  venues: readonly Venue[],
  read: (venue: Venue) => readonly { readonly value: number | null; readonly labels?: Labels }[],
): Value[] =>
  venues.flatMap((venue) =>
    read(venue).flatMap(({ value, labels = {} }) =>
      value === null ? [] : [{ value, labels: { chain: venue.definition.slug, ...labels } }],
    ),
  );

/** What the gateway knows of itself and its chains without asking anybody. */
function chainFamilies({ clock }: Gateway, venues: readonly Venue[]): MetricFamily[] {
  const seconds = (since: number | null): number | null => (since === null ? null : (clock.now() - since) / 1_000);
  return [
    gauge(
      'chain_head_block',
      'The newest block seen.',
      perChain(venues, ({ state }) => [{ value: state.head === null ? null : Number(state.head.block.number) }]),
    ),
    gauge(
      'chain_head_age_seconds',
      'Since the newest block was seen.',
      perChain(venues, ({ state }) => [{ value: seconds(state.head?.seenAt ?? null) }]),
    ),
    gauge(
      'follower_lag_blocks',
      'Blocks whose events are not applied yet.',
      perChain(venues, (venue) => [{ value: lagOf(venue) }]),
    ),
    counter(
      'rpc_requests_total',
      'Requests to nodes, by endpoint and outcome.',
      perChain(venues, ({ chain }) =>
        chain.traffic().flatMap(({ host, answered, failed }) => [
          { value: answered, labels: { endpoint: host, outcome: 'answered' } },
          { value: failed, labels: { endpoint: host, outcome: 'failed' } },
        ]),
      ),
    ),
    gauge(
      'rpc_endpoint_up',
      'Whether an endpoint is asked.',
      perChain(venues, ({ chain }) =>
        chain.endpoints().map(({ host, state }) => ({ value: state === 'ok' ? 1 : 0, labels: { endpoint: host } })),
      ),
    ),
  ];
}

function lagOf({ state: { head, followed } }: Venue): number | null {
  return head === null || followed.block === null ? null : Math.max(0, Number(head.block.number - followed.block));
}

/** Everything that Prometheus is told besides what the process says of itself. Figures of the database are the same on every replica. */
export async function collectMetrics(gateway: Gateway): Promise<readonly MetricFamily[]> {
  const venues = [...gateway.venues.values()];
  const own = [...gateway.metrics.families(), ...chainFamilies(gateway, venues)];
  try {
    const stored = await Promise.all([relayFamilies(gateway, venues), ledgerFamilies(gateway), countFamilies(gateway)]);
    return [...own, ...stored.flat(), gauge('store_up', 'Whether the database answers.', [{ value: 1, labels: {} }])];
  } catch (error) {
    gateway.log.warn('metrics.store-failed', { error });
    return [...own, gauge('store_up', 'Whether the database answers.', [{ value: 0, labels: {} }])];
  }
}

async function relayFamilies(gateway: Gateway, venues: readonly Venue[]): Promise<MetricFamily[]> {
  const wallets = (await Promise.all(venues.map((venue) => readWallets(gateway, venue)))).flat();
  const each = (read: (wallet: (typeof wallets)[number]) => number | null): Value[] =>
    wallets.flatMap((wallet) => {
      const value = read(wallet);
      return value === null ? [] : [{ value, labels: { chain: wallet.chain, wallet: wallet.address } }];
    });
  return [
    gauge(
      'relayer_balance_native',
      'What a wallet holds, in the chain’s own coin.',
      each(({ balance }) => (balance === null ? null : Number(balance) / WEI)),
    ),
    gauge(
      'relayer_runway_days',
      'Days until a wallet is empty at the dearer of its two paces.',
      each(({ runwayDays }) => runwayDays),
    ),
    gauge(
      'relayer_lane_fenced',
      'Whether a lane cannot send.',
      each(({ lane }) => (lane === null ? null : lane.state === 'fenced' ? 1 : 0)),
    ),
    gauge(
      'relayer_oldest_open_seconds',
      'Age of the oldest job that is not over.',
      each(({ oldestOpenMs }) => (oldestOpenMs ?? 0) / 1_000),
    ),
    gauge(
      'relayer_open_jobs',
      'Jobs that are not over, by state.',
      wallets.flatMap(({ chain, address, openByState }) =>
        Object.entries(openByState).map(([state, value]) => ({ value, labels: { chain, wallet: address, state } })),
      ),
    ),
  ];
}

/** Gauges, although they grow: a reorganisation takes back what it undoes, and a counter that falls would be read as a restart. */
async function ledgerFamilies({ store }: Gateway): Promise<MetricFamily[]> {
  const [totals, refusals] = await Promise.all([store.gas.totals(), store.gas.refusals()]);
  const labelled = totals.map(({ chain, wallet, action, outcome, ...row }) => ({ ...row, labels: { chain, wallet, action, outcome } }));
  return [
    gauge(
      'relayer_cost_native',
      'Gas paid since the beginning, in the chain’s own coin.',
      labelled.map(({ costWei, labels }) => ({ value: Number(costWei) / WEI, labels })),
    ),
    gauge(
      'relayer_transactions',
      'Transactions mined; outcome replaced: a nonce given away, no-op: a gap filled.',
      labelled.map(({ transactions, labels }) => ({ value: transactions, labels })),
    ),
    counter(
      'relayer_refusals_total',
      'Jobs that were never sent, by reason.',
      refusals.map(({ count, chain, reason }) => ({ value: count, labels: { chain, reason } })),
    ),
  ];
}

async function countFamilies({ store: { metrics } }: Gateway): Promise<MetricFamily[]> {
  const [orders, alerts, deliveries] = await Promise.all([metrics.liveOrders(), metrics.openAlerts(), metrics.undelivered()]);
  const values = (rows: readonly (Readonly<Record<string, string | number>> & { readonly count: number })[]): Value[] =>
    rows.map(({ count, ...labels }) => ({ value: count, labels }));
  return [
    gauge('orders', 'Orders that are not over, by status.', values(orders)),
    gauge('alerts_open', 'Alerts that are open, by kind.', values(alerts)),
    gauge('alert_deliveries', 'Messages that the receiver of alerts has not taken.', values(deliveries)),
  ];
}
