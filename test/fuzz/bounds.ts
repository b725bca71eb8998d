import type { Measure } from './measures.js';

/** What was sent between two measures. */
export interface Work {
  readonly inputs: number;
  /** Writes that were accepted. */
  readonly admitted: number;
  /** Different client addresses. */
  readonly addresses: number;
  readonly seconds: number;
}

/** Bounds, each with the part that time causes whether or not anything is sent: blocks, prices, candles, polling. */
const ROWS = { base: 500, perSecond: 60, perAdmitted: 30, perAddress: 6 };
const DATABASE_BYTES = { base: 48 * 1024 * 1024, perRow: 8 * 1024 };
const NODE_CALLS = { base: 500, perSecond: 150, perInput: 0.5, perAdmitted: 40 };
const HEAP_GROWTH_BYTES = 48 * 1024 * 1024;

const MEGABYTE = 1024 * 1024;
const rowsOf = ({ rows }: Measure): number => [...rows.values()].reduce((sum, count) => sum + count, 0);

/** What broke its bound, in words. */
export function brokenBounds(before: Measure, after: Measure, { inputs, admitted, addresses, seconds }: Work): string[] {
  const problems: string[] = [];
  if (!after.isReady) problems.push('/ready does not answer 200');
  const rows = rowsOf(after) - rowsOf(before);
  const mostRows = ROWS.base + ROWS.perSecond * seconds + ROWS.perAdmitted * admitted + ROWS.perAddress * addresses;
  if (rows > mostRows)
    problems.push(
      `${rows} rows were added, for ${admitted} admitted writes at most ${Math.round(mostRows)} may be: ${grownTables(before, after)}`,
    );
  const bytes = after.databaseBytes - before.databaseBytes;
  const mostBytes = DATABASE_BYTES.base + DATABASE_BYTES.perRow * Math.max(0, rows);
  if (bytes > mostBytes)
    problems.push(
      `the database grew by ${Math.round(bytes / MEGABYTE)} MiB, for ${rows} rows at most ${Math.round(mostBytes / MEGABYTE)} may be`,
    );
  const calls = after.nodeCalls - before.nodeCalls;
  const mostCalls = NODE_CALLS.base + NODE_CALLS.perSecond * seconds + NODE_CALLS.perInput * inputs + NODE_CALLS.perAdmitted * admitted;
  if (calls > mostCalls) problems.push(`${calls} calls to the node for ${inputs} inputs, at most ${Math.round(mostCalls)} may be`);
  return problems;
}

const grownTables = (before: Measure, after: Measure): string =>
  [...after.rows]
    .map(([name, count]) => ({ name, grown: count - (before.rows.get(name) ?? 0) }))
    .sort((a, b) => b.grown - a.grown)
    .slice(0, 4)
    .map(({ name, grown }) => `${name} +${grown}`)
    .join(', ');

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const COMPARED = 3;

/** Heap sizes after collection, chunk by chunk. The first one warms up: caches fill to their bound there. */
export function heapProblem(heaps: readonly number[]): string | null {
  const measured = heaps.slice(1);
  if (measured.length < 2 * COMPARED) return null;
  const grown = median(measured.slice(-COMPARED)) - median(measured.slice(0, COMPARED));
  return grown <= HEAP_GROWTH_BYTES
    ? null
    : `the heap after collection grew by ${Math.round(grown / MEGABYTE)} MiB over ${measured.length} chunks`;
}
