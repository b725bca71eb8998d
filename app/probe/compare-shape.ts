import type { WireFields, WireKind, WireShape } from '../../core/adapters/backend/wire-shape.js';

/** Where a reply differs from what its parser reads: paths and types, never values. */
export interface ShapeDifferences {
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
