import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Wallet } from 'ethers';
import { parse } from 'yaml';
import { lower } from '../../core/domain/interpret-executions.js';
import { METRICS } from '../../core/observability/metrics-table.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { readPromql } from '../harness/checks/promql.js';
import { answersWhenKnown } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
const docker = path.resolve(import.meta.dirname, '../../docker');
const dashboards = readdirSync(path.join(docker, 'grafana/dashboards')).map((file) => ({
  file,
  board: JSON.parse(readFileSync(path.join(docker, 'grafana/dashboards', file), 'utf8')) as Board,
}));
const alerts = parse(readFileSync(path.join(docker, 'prometheus/alerts.yml'), 'utf8')) as {
  groups: { name: string; rules: { alert: string; expr: string; for?: string; labels: object; annotations: Record<string, string> }[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);

interface Board {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly id?: unknown;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[] };
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly datasource?: { readonly uid: string };
    readonly targets?: readonly {
      readonly expr: string;
      readonly legendFormat: string;
      readonly refId: string;
      readonly datasource: { readonly uid: string };
    }[];
  }[];
}

const expressions = [
  ...dashboards.flatMap(({ file, board }) =>
    board.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ place: `${file}: ${title}`, expr }))),
  ),
  ...rules.map(({ alert, expr }) => ({ place: `alerts.yml: ${alert}`, expr })),
];

/** Labels of every metric that a venue with some trade prints; those without a sample have none. */
const printed = new Map<string, Set<string>>();
/** What takes its time: an order's way to the end, and a collection of garbage after the first scrape. */
const SEEN = [
  /order_seconds_count\{[^}]*phase="filled"\} [1-9]/,
  /relayer_job_seconds_count\{[^}]*phase="mined"\} [1-9]/,
  /nodejs_gc_duration_seconds_sum/,
];
let sandbox: TestVenue;

beforeAll(async () => {
  sandbox = await startOwnVenue({ METRICS_PUBLIC: 'true' });
  const bot = await newFacadeTrader(sandbox);
  const wallet = new Wallet(bot.agentKey);
  const chain = firstChain(sandbox);
  const { relay } = sandbox.gateway.store;
  const action = orderAction(order({ t: { limit: { tif: 'Ioc' } }, p: '200000' }));
  // A job that is in a block before the node's answer is noted has no time from the one to the other.
  await chain.pauseMining(true);
  answersWhenKnown(sandbox);
  const answer = postExchange(sandbox.url, CHAIN, await signL1(wallet, action));
  await eventually(
    () => relay.open(CHAIN, lower(sandbox.controls.relayer)),
    (jobs) => jobs.some(({ state }) => state === 'accepted'),
  );
  await chain.pauseMining(false);
  expect(JSON.stringify((await answer).body)).toContain('filled');
  const text = await eventually(
    async () => (await fetch(`${sandbox.url}/metrics`)).text(),
    (now) => SEEN.every((sample) => sample.test(now)),
  );
  for (const line of text.split('\n')) {
    const [, help] = /^# TYPE (\S+)/.exec(line) ?? [];
    const [, name = '', labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (help !== undefined && !printed.has(help)) printed.set(help, new Set());
    if (name === '') continue;
    const known = printed.get(name) ?? new Set<string>();
    for (const [, label = ''] of labels.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    printed.set(name, known);
  }
});
afterAll(() => sandbox.stop());

/** Prometheus adds these to whatever it scrapes. */
const ADDED = new Set(['instance', 'job']);
const tableLabels = new Map<string, readonly string[]>(Object.values(METRICS).map(({ name, labels }) => [name, labels]));

function hasLabel(metric: string, label: string): boolean {
  if (ADDED.has(label) || metric === 'up') return true;
  const labels = printed.get(metric);
  return labels !== undefined && labels.size > 0 ? labels.has(label) : (tableLabels.get(metric)?.includes(label) ?? false);
}

describe('the table of metrics', () => {
  it('says exactly what is printed', () => {
    for (const { name, type, labels } of Object.values(METRICS)) {
      expect([name, printed.has(name)]).toEqual([name, true]);
      const sampled = type === 'histogram' ? printed.get(`${name}_count`) : printed.get(name);
      if (sampled !== undefined && sampled.size > 0) expect([name, [...sampled].sort()]).toEqual([name, [...labels].sort()]);
    }
    const ours = [...printed.keys()]
      .filter((name) => /^gateway_(?!nodejs_|process_)/.test(name))
      .map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
    expect(ours.filter((name) => !tableLabels.has(name))).toEqual([]);
  });
});

describe('every question of the dashboards and the alert rules', () => {
  it.each(expressions)('$place can be answered by what is printed', ({ expr }) => {
    const { selectors, groupings } = readPromql(expr);
    expect(selectors.length).toBeGreaterThan(0);
    for (const { metric, labels } of selectors) {
      expect([metric, metric === 'up' || printed.has(metric)]).toEqual([metric, true]);
      for (const label of labels) expect([metric, label, hasLabel(metric, label)]).toEqual([metric, label, true]);
    }
    for (const { labels, metrics } of groupings)
      for (const label of labels)
        for (const metric of metrics) expect([metric, label, hasLabel(metric, label)]).toEqual([metric, label, true]);
  });

  it('would not pass with a name, a label or a bracket that is wrong', () => {
    for (const bad of ['sum(rate(a[5m])', 'rat(a[5m])', 'a{b}', 'a b', 'sum by (x (a)']) expect(() => readPromql(bad)).toThrow();
    expect(hasLabel('gateway_http_requests_total', 'colour')).toBe(false);
    expect(printed.has('gateway_nothing_total')).toBe(false);
  });
});

describe.each(dashboards)('the dashboard $file', ({ file, board }) => {
  it('can be provisioned', () => {
    expect(board.uid).toBe(`diamond-gateway-${file.replace('.json', '')}`);
    expect(board.title).toMatch(/^Diamond Gateway: /);
    expect(board.schemaVersion).toBeGreaterThanOrEqual(39);
    expect(board.id).toBeUndefined();
    expect(board.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
  });

  it('asks the data source that is chosen, and fills its variables from what is printed', () => {
    for (const { targets = [], datasource } of board.panels) {
      expect([undefined, '${datasource}']).toContain(datasource?.uid);
      expect(targets.map((target) => target.datasource.uid)).toEqual(targets.map(() => '${datasource}'));
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    }
    const names = board.templating.list.map(({ name }) => name);
    const used = new Set([...JSON.stringify(board.panels).matchAll(/\$\{?([a-z]\w*)\}?/g)].map(([, name]) => name));
    for (const name of used) expect(names).toContain(name);
    for (const { definition } of board.templating.list) {
      if (definition === undefined) continue;
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
      expect([metric, label, printed.has(metric) && hasLabel(metric, label)]).toEqual([metric, label, true]);
    }
  });

  it('names in its legends only labels that its answers have', () => {
    for (const { title, targets = [] } of board.panels)
      for (const { expr, legendFormat } of targets)
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          const { selectors, groupings } = readPromql(expr);
          const grouped = groupings.filter(({ labels }) => labels.length > 0);
          const isThere =
            grouped.length > 0
              ? grouped.some(({ labels }) => labels.includes(label))
              : selectors.some(({ metric }) => hasLabel(metric, label));
          expect([title, label, isThere]).toEqual([title, label, true]);
        }
  });

  it('has panels that do not lie on each other', () => {
    for (const [at, { gridPos: a, title }] of board.panels.entries())
      for (const { gridPos: b, title: other } of board.panels.slice(at + 1)) {
        const isApart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        expect([title, other, isApart]).toEqual([title, other, true]);
      }
  });
});

describe('the alert rules', () => {
  it('have a name of their own, a severity and words', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations, for: wait } of rules) {
      expect(alert).toMatch(/^Gateway[A-Z]\w+$/);
      expect(labels).toEqual({ severity: expect.stringMatching(/^(?:page|ticket)$/) as string });
      expect([annotations['summary'], annotations['description']].every((text) => (text?.length ?? 0) > 10)).toBe(true);
      expect(wait ?? '1m').toMatch(/^\d+[sm]$/);
    }
  });

  it('see to everything that stops trade', () => {
    const watched = expressions
      .filter(({ place }) => place.startsWith('alerts.yml'))
      .flatMap(({ expr }) => readPromql(expr).selectors.map(({ metric }) => metric));
    expect(watched).toEqual(
      expect.arrayContaining(
        [
          'follower_lag_seconds',
          'ready',
          'relayer_lane_blocked',
          'relayer_runway_days',
          'rpc_requests_total',
          'feed_up',
          'event_loop_delay_seconds',
          'database_pool_waiting',
          'http_requests_total',
          'alert_deliveries',
        ].map((name) => `gateway_${name}`),
      ),
    );
  });
});
