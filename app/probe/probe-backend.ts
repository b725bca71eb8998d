import { createConfigState } from '../../core/adapters/backend/config-state.js';
import { HttpFault, type Endpoints, type Http } from '../../core/adapters/backend/http.js';
import { ShapeError } from '../../core/adapters/backend/wire.js';
import { WIRE_KEYS } from '../../core/adapters/backend/sections.js';
import { readTradeRow } from '../../core/adapters/backend/trade-history.js';
import {
  CHART_HISTORY_SHAPE,
  CHARTS_SHAPE,
  TRADE_HISTORY_SHAPE,
  TRADING_VARIABLES_SHAPE,
  type WireFields,
  type WireKind,
  type WireShape,
} from '../../core/adapters/backend/wire-shape.js';
import type { MarketConfig } from '../../core/domain/market.js';
import { sessionOpen } from '../../core/domain/schedule.js';
import { differs, few, judge, ok, type Looker, type Outcome, type Probe } from './look.js';
import { Refused } from '../../core/adapters/backend/ask-upstream.js';
import { readCandles } from '../../core/adapters/backend/charts.js';
import { createPriceBook } from '../../core/adapters/backend/price-book.js';
import { CANDLE_INTERVALS, intervalMs, type CandleInterval } from '../../core/domain/candle.js';

/** Adds the requested waiting time to a refusal's message. */
function explainFault(error: unknown): never {
  if (!(error instanceof HttpFault) || error.retryAfterMs === 0) throw error;
  throw new Error(`${error.message}, asks for ${Math.ceil(error.retryAfterMs / 1000)} s of patience`);
}

/** Unknown names are harmless: they are only listed. */
function shapeOutcome(shape: WireShape, body: unknown): Outcome {
  const { missing, changed, unknown } = compareShape(shape, body);
  const notes = [
    ...(changed.length > 0 ? [`changed: ${few(changed)}`] : []),
    ...(missing.length > 0 ? [`missing: ${few(missing)}`] : []),
    ...(unknown.length > 0 ? [`new: ${few(unknown)}`] : []),
  ];
  return judge(missing.length + changed.length === 0, notes.length === 0 ? 'as expected' : notes.join('; '));
}

/** Checks the chain's parameters: shape, parsing and age. Null if they are unusable. */
export async function probeVariables(probe: Probe, look: Looker, http: Http, endpoints: Endpoints): Promise<MarketConfig | null> {
  let body: unknown = null;
  const url = `${endpoints.backendUrl}/trading-variables/${WIRE_KEYS.join(',')}`;
  const verdict = await look({
    check: 'trading variables',
    expected: 'every field that is read, of its kind',
    run: async (signal) => {
      body = await http.getJson(url, signal).catch(explainFault);
      return shapeOutcome(TRADING_VARIABLES_SHAPE, body);
    },
  });
  if (verdict === 'unreachable') return null;
  const state = createConfigState((hours) => sessionOpen(hours, probe.clock.now()));
  await look({
    check: 'trading variables, read',
    expected: 'no element that cannot be read',
    run: () => Promise.resolve(readOutcome(state, body, probe.clock.now())),
  });
  if (state.config() !== null) await lookAtAge(look, state.refreshedAt() ?? 0, probe.clock.now());
  return state.config();
}

function readOutcome(state: ReturnType<typeof createConfigState>, body: unknown, now: number): Outcome {
  try {
    const problems = state.replace(body, now);
    const { pairs, collaterals } = state.config() ?? { pairs: [], collaterals: [] };
    const read = `${pairs.filter((pair) => pair !== null).length} markets, ${collaterals.length} collaterals`;
    const count = problems?.count ?? 0;
    return judge(count === 0, count === 0 ? read : `${read}; ${count} cannot be read: ${few(problems?.places ?? [])}`);
  } catch (error) {
    if (error instanceof ShapeError) return differs(`refused: ${error.message}`);
    throw error;
  }
}

const FRESH_S = 120;

const lookAtAge = (look: Looker, refreshedAt: number, now: number) =>
  look({
    check: 'age of the trading variables',
    expected: `${FRESH_S} s at most; the chain is asked instead of older ones`,
    run: () => {
      const age = Math.round((now - refreshedAt) / 1000);
      return Promise.resolve(judge(age <= FRESH_S, `${age} s`));
    },
  });

const MOST_ROWS = 10_000;

/** Executions of the last day, from the host of all chains. */
export async function probeHistory(look: Looker, http: Http, endpoints: Endpoints, chainId: number): Promise<void> {
  const rows: unknown[] = [];
  await look({
    check: `history of chain ${chainId}`,
    expected: 'a list of rows, every field that is read of its kind',
    run: async (signal) => {
      const body = await http.getJson(`${endpoints.globalUrl}/api/trading-history/24h?chainId=${chainId}`, signal).catch(explainFault);
      if (Array.isArray(body)) rows.push(...(body as unknown[]).slice(0, MOST_ROWS));
      return shapeOutcome(TRADE_HISTORY_SHAPE, body);
    },
  });
  if (rows.length > 0) await lookAtRows(look, chainId, rows);
}

const lookAtRows = (look: Looker, chainId: number, rows: readonly unknown[]) =>
  look({
    check: `history of chain ${chainId}, read`,
    expected: 'most rows are executions that can be read',
    run: () => {
      const read = rows.filter((row) => readTradeRow(row) !== null).length;
      const found = `${read} of ${rows.length} rows`;
      return Promise.resolve(read * 2 >= rows.length ? ok(found) : differs(found));
    },
  });

/** Where a reply differs from what its parser reads: paths and types, never values. */
interface ShapeDifferences {
  /** Read by the parser, but absent. */
  readonly missing: readonly string[];
  /** Present, but of another type. */
  readonly changed: readonly string[];
  /** Present, but not read. */
  readonly unknown: readonly string[];
}

type FoundKind = WireKind | 'list' | 'object' | 'null' | 'nothing';

interface Notes {
  readonly missing: Map<string, number>;
  readonly changed: Map<string, number>;
  readonly unknown: Map<string, number>;
}

/** Enough to see the cause; a snapshot of another release differs in a thousand places for one reason. */
const MOST_PATHS = 200;

export function compareShape(shape: WireShape, value: unknown): ShapeDifferences {
  const notes: Notes = { missing: new Map(), changed: new Map(), unknown: new Map() };
  compare(shape, value, '', notes);
  const listed = (counts: Map<string, number>): string[] =>
    [...counts].map(([what, times]) => (times === 1 ? what : `${what} (${times} times)`));
  return { missing: listed(notes.missing), changed: listed(notes.changed), unknown: listed(notes.unknown) };
}

function note(counts: Map<string, number>, what: string): void {
  if (counts.size < MOST_PATHS || counts.has(what)) counts.set(what, (counts.get(what) ?? 0) + 1);
}

const nameOf = (shape: WireShape): FoundKind => ('kind' in shape ? shape.kind : 'list' in shape ? 'list' : 'object');

function compare(shape: WireShape, value: unknown, path: string, notes: Notes): void {
  const found = kindsOf(value);
  const wanted = nameOf(shape);
  if (!found.includes(wanted)) return note(notes.changed, `${path || 'the answer'}: ${found[0]} instead of ${wanted}`);
  if ('list' in shape) return compareList(shape, value as readonly unknown[], path, notes);
  if ('kind' in shape) return;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if ('values' in shape) return entries.forEach(([, one]) => compare(shape.values, one, `${path}.*`, notes));
  compareFields(shape, new Map(entries), path, notes);
}

function compareList({ list, blanks }: Extract<WireShape, { list: unknown }>, value: readonly unknown[], path: string, notes: Notes): void {
  for (const one of value) if (!(blanks && one === null)) compare(list, one, `${path}[]`, notes);
}

function compareFields({ fields, also }: WireFields, given: ReadonlyMap<string, unknown>, path: string, notes: Notes): void {
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  for (const [name, shape] of Object.entries(fields)) {
    const value = given.get(name);
    if (value === undefined || value === null) note(notes.missing, at(name));
    else compare(shape, value, at(name), notes);
  }
  for (const name of given.keys()) if (!Object.hasOwn(fields, name) && !also.includes(name)) note(notes.unknown, at(printable(name)));
}

/** Names come from upstream and end up on a terminal, so they are sanitised. */
const printable = (name: string): string => (/^[\w.-]{1,48}$/.test(name) ? name : '?');

const DIGITS = /^-?\d{1,78}$/;
const DECIMAL = /^-?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,3})?$/i;

/** All kinds a value may count as, the plainest first. Integers and prices come as texts as well as numbers. */
function kindsOf(value: unknown): readonly FoundKind[] {
  if (value === undefined) return ['nothing'];
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['list'];
  if (typeof value === 'boolean') return ['flag'];
  if (typeof value === 'number') return Number.isSafeInteger(value) ? ['integer', 'number', 'time'] : ['number', 'time'];
  if (typeof value !== 'string') return ['object'];
  if (DIGITS.test(value)) return ['text', 'integer', 'number'];
  if (DECIMAL.test(value)) return ['text', 'number'];
  return Number.isNaN(Date.parse(value)) ? ['text'] : ['text', 'time'];
}

/** Candles per request: enough to see their distance, few enough for every interval. */
const CANDLES = 50;

/** Checks the newest prices of all markets, and the history of one of them in every interval. */
export async function probeCharts(probe: Probe, look: Looker, http: Http, endpoints: Endpoints): Promise<void> {
  const { clock } = probe;
  let pairIndex = 0;
  await look({
    check: 'charts',
    expected: 'a price for every market, by its index',
    run: async (signal) => {
      const body = await http.getJson(`${endpoints.pricingUrl}/charts`, signal).catch(explainFault);
      const outcome = shapeOutcome(CHARTS_SHAPE, body);
      const priced = createPriceBook().seed(body, clock.now(), clock.now());
      pairIndex = priced[0] ?? 0;
      return outcome.verdict === 'ok' ? judge(priced.length > 0, `${priced.length} prices; ${outcome.found}`) : outcome;
    },
  });
  for (const interval of CANDLE_INTERVALS) await lookAtInterval(look, { http, endpoints, interval, pairIndex, now: clock.now() });
}

interface ChartQuestion {
  readonly http: Http;
  readonly endpoints: Endpoints;
  readonly interval: CandleInterval;
  readonly pairIndex: number;
  readonly now: number;
}

const lookAtInterval = (look: Looker, { http, endpoints, interval, pairIndex, now }: ChartQuestion) => {
  const sizeMs = intervalMs(interval);
  const [from, to] = [now - CANDLES * sizeMs, now].map((at) => Math.floor(at / 1000));
  return look({
    check: `candles of ${interval}`,
    expected: `a table of pair ${pairIndex}, one row every ${interval}`,
    run: async (signal) => {
      try {
        const url = `${endpoints.pricingUrl}/charts/${pairIndex}/${from}/${to}/${sizeMs / 60_000}`;
        return candlesOutcome(await http.getJson(url, signal), sizeMs);
      } catch (error) {
        if (error instanceof HttpFault && [400, 404, 422].includes(error.status ?? 0)) return differs(`refused with ${error.message}`);
        return explainFault(error);
      }
    },
  });
};

function candlesOutcome(body: unknown, sizeMs: number): Outcome {
  try {
    const candles = readCandles(body, sizeMs);
    const { unknown } = compareShape(CHART_HISTORY_SHAPE, body);
    const summary = `${candles.length} candles${unknown.length === 0 ? '' : `; new: ${few(unknown)}`}`;
    return isOfAnotherSize(candles, sizeMs) ? differs(`${summary}, none of them next to another`) : ok(summary);
  } catch (error) {
    if (error instanceof ShapeError || error instanceof Refused)
      return differs(`${error.message}; ${shapeOutcome(CHART_HISTORY_SHAPE, body).found}`);
    throw error;
  }
}

/** Longer candles than requested begin at the same times as ours; only their distance differs. */
const isOfAnotherSize = (candles: readonly { readonly time: number }[], sizeMs: number): boolean =>
  candles.length > 2 && candles.every(({ time }, at) => at === 0 || time - (candles[at - 1]?.time ?? 0) > sizeMs);
