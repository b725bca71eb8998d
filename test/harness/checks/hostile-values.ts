import type { z } from 'zod';

const VALID_ADDRESS = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';

/** Strings of which at least one fits any field of ours. */
const STRINGS = [
  'x',
  '1',
  '1.5',
  'BTC/USD',
  'BTC',
  '1h',
  VALID_ADDRESS,
  `0x${'1'.repeat(32)}`,
  `0x${'1'.repeat(64)}`,
  '0x1234',
  'arbitrum-sepolia',
  '2026-01-31',
  'ord_1',
  `ord_${'0'.repeat(26)}`,
];
const NUMBERS = [0, 1, 5, 60, 1_000];

/** What a client may write anywhere in a body: near misses of what fits, and values that library functions throw on. */
export const HOSTILE: readonly unknown[] = [
  null,
  true,
  '',
  ' ',
  '0x',
  '0xZZ',
  `${VALID_ADDRESS}*`,
  // The pattern fails, and what is left looks like an address in mixed case.
  '0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d359*',
  '0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d35',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  `0x${'aA'.repeat(500)}`,
  '-1',
  '1e999',
  '1_000',
  '.',
  '1.',
  '-',
  '--1',
  'NaN',
  'Infinity',
  '9'.repeat(200),
  `0.${'0'.repeat(200)}1`,
  '9999-99-99',
  '\u0000',
  '\ud800',
  '%',
  '%E0%A4%A',
  'https://[',
  '__proto__',
  'constructor',
  'toString',
  '😀'.repeat(50),
  'x'.repeat(100_000),
  '('.repeat(50_000),
  -1,
  -0,
  0.1,
  1e308,
  Number.MAX_SAFE_INTEGER + 2,
  123_456_789_012_345_678_901n,
  [],
  [[]],
  [null],
  Array.from({ length: 2_000 }, () => 0),
  {},
  { toString: 1, valueOf: 1 },
  Object.assign(Object.create(null) as object, { a: 1 }),
  JSON.parse('{"__proto__":{"a":1}}'),
  { constructor: { prototype: null } },
  { written: '1.0' },
];

const TAKES_ANYTHING: ReadonlySet<string> = new Set(['transform', 'unknown']);

type Inner = z.ZodType & { readonly _zod: { readonly def: Readonly<Record<string, unknown>> & { readonly type: string } } };

/** A value that a schema takes, found by what it is made of; so that each refinement of a whole object is reached as well. */
export function sampleOf(schema: z.ZodType): unknown {
  const { def } = (schema as Inner)._zod;
  const inner = (name: string): unknown => sampleOf(def[name] as z.ZodType);
  const fitting = (values: readonly unknown[]): unknown => values.find((value) => schema.safeParse(value).success);
  switch (def.type) {
    case 'object':
      return fitting(objectsOf(def['shape'] as Record<string, z.ZodType>));
    case 'array':
      return [inner('element')];
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      return inner('innerType');
    case 'pipe':
      return fitting([TAKES_ANYTHING.has((def['in'] as Inner)._zod.def.type) ? inner('out') : inner('in'), ...STRINGS]);
    case 'union':
      return (def['options'] as readonly z.ZodType[]).map(sampleOf)[0];
    case 'literal':
      return (def['values'] as readonly unknown[])[0];
    case 'enum':
      return Object.values(def['entries'] as object)[0];
    case 'boolean':
      return true;
    case 'number':
      return fitting(NUMBERS);
    case 'string':
      return fitting(STRINGS);
    default:
      return fitting([...STRINGS, ...NUMBERS]);
  }
}

/** With all its fields, or with those that are needed and at most one other: some fields exclude each other. */
function objectsOf(shape: Readonly<Record<string, z.ZodType>>): object[] {
  const all = Object.entries(shape).map(([key, field]) => [key, sampleOf(field)] as const);
  const needed = all.filter(([key]) => shape[key]?.safeParse(undefined).success === false);
  return [all, needed, ...all.map((one) => [...needed, one])].map((entries) => Object.fromEntries(entries));
}

/** The sample with one place of it, the whole included, replaced by each hostile value; and each object with keys that are not its own. */
export function* hostileVariants(sample: unknown): Generator {
  yield* HOSTILE;
  if (typeof sample !== 'object' || sample === null) return;
  if (!Array.isArray(sample))
    for (const key of ['__proto__', 'constructor', 'hasOwnProperty', 'x'.repeat(1_000)]) {
      const strange: object = { ...sample };
      Object.defineProperty(strange, key, { value: 1, enumerable: true });
      yield strange;
    }
  for (const [key, value] of Object.entries(sample)) {
    if (!Array.isArray(sample)) {
      yield Object.fromEntries(Object.entries(sample).filter(([name]) => name !== key));
    }
    for (const hostile of hostileVariants(value)) {
      const changed: unknown = Array.isArray(sample) ? [...(sample as unknown[])] : { ...sample };
      (changed as Record<string, unknown>)[key] = hostile;
      yield changed;
    }
  }
}
