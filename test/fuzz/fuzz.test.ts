import type { z } from 'zod';
import { ACTIONS } from '../../facade/actions/index.js';
import { INFO_TYPES } from '../../facade/info/info-handler.js';
import { findSubscription, SUBSCRIPTION_NAMES } from '../../facade/ws/subscriptions.js';
import { OPERATIONS } from '../../native-api/operations/index.js';
import { SUBSCRIPTIONS } from '../../native-api/wire/stream.js';
import { OPERATOR_ROUTES } from '../../relayer/operator/operator-routes.js';
import { heapProblem } from './bounds.js';
import { openFuzzVenue, type FuzzVenue } from './fuzz-venue.js';
import { describeInput, literalOf } from './input.js';
import { createMaterials } from './materials.js';
import { createRandom } from './random.js';
import { runFuzz } from './run-fuzz.js';
import { makeInput, TARGETS } from './targets.js';

/** `npm run test:slow` sends three times as many. */
const INPUTS = process.env['SLOW_TESTS'] === '1' ? 1_500 : 500;

const MATERIALS = createMaterials({ addresses: [`0x${'a'.repeat(40)}`], slug: 'arbitrum-sepolia', operatorToken: 'x' });

describe('the inputs of the fuzzer', () => {
  it('follow from the seed and the index alone', () => {
    const texts = (seed: number): string[] =>
      Array.from({ length: 300 }, (_, index) => describeInput(makeInput(MATERIALS, seed, index).input));
    expect(texts(7)).toEqual(texts(7));
    expect(texts(7)).not.toEqual(texts(8));
  });

  it('reach every target', () => {
    const reached = new Set(Array.from({ length: 5_000 }, (_, index) => makeInput(MATERIALS, 1, index).target));
    expect([...reached].sort()).toEqual(TARGETS.map(({ name }) => name).sort());
  });

  const parts = (name: string, row: { params?: z.ZodType | undefined; query?: z.ZodType | undefined; body?: z.ZodType | undefined }) =>
    (['params', 'query', 'body'] as const).flatMap((part) =>
      row[part] === undefined ? [] : [{ name: `${part} of ${name}`, schema: row[part] }],
    );
  const schemas: { readonly name: string; readonly schema: z.ZodType }[] = [
    ...OPERATIONS.flatMap((row) => parts(row.id, row)),
    ...OPERATOR_ROUTES.flatMap((row) => parts(`${row.method} ${row.path}`, row)),
    ...[...INFO_TYPES.values()].map(({ type, fields }) => ({ name: `info ${type}`, schema: fields })),
    ...[...ACTIONS.values()].flatMap((row) =>
      row.scheme === 'l1' && row.schema !== 'any' ? [{ name: `action ${row.type}`, schema: row.schema }] : [],
    ),
    ...SUBSCRIPTION_NAMES.flatMap((type) => {
      const row = findSubscription(type);
      return row === undefined ? [] : [{ name: `subscription ${type}`, schema: row.fields }];
    }),
    ...Object.entries(SUBSCRIPTIONS).map(([channel, schema]) => ({ name: `channel ${channel}`, schema })),
  ];

  it('begin with values that fit their schema, for every schema of the registries', () => {
    const TRIES = 200;
    const fitsOnce = (schema: z.ZodType): boolean =>
      Array.from({ length: TRIES }, (_, stream) => createRandom(1, stream)).some(
        (random) => schema.safeParse(MATERIALS.example(schema, random)).success,
      );
    expect(schemas.length).toBeGreaterThan(80);
    expect(schemas.filter(({ schema }) => !fitsOnce(schema)).map(({ name }) => name)).toEqual([]);
  });

  it('are printed as expressions that give the same bytes again', () => {
    expect(literalOf(Buffer.from(`{"x":${'['.repeat(500)}\u202e'`))).toBe(`'{"x":' + '['.repeat(500) + '\\u202e\\''`);
    expect(literalOf(Buffer.of(0xff, 0x41))).toBe(`Buffer.from('\\u00ffA', 'latin1')`);
  });

  it('count a heap that keeps growing as a finding, and one that has filled its caches not', () => {
    const MEGABYTE = 1_048_576;
    const heaps = (perChunk: number): number[] => Array.from({ length: 12 }, (_, chunk) => (80 + chunk * perChunk) * MEGABYTE);
    expect(heapProblem(heaps(20))).toMatch(/grew by 160 MiB/);
    expect(heapProblem(heaps(1))).toBeNull();
  });
});

describe('the service under the fuzzer', () => {
  let venue: FuzzVenue;
  beforeAll(async () => {
    venue = await openFuzzVenue();
  });
  afterAll(() => venue.stop());

  it(`answers ${INPUTS} inputs without an error of its own, and stays within its bounds`, async () => {
    const lines: string[] = [];
    const { inputs, found } = await runFuzz(venue, {
      seed: 1,
      inputs: INPUTS,
      seconds: 600,
      chunk: 500,
      write: (line) => lines.push(line),
    });
    expect(found).toEqual([]);
    expect(inputs).toBe(INPUTS);
    expect(venue.delivery.counts.unsent).toBeLessThan(INPUTS / 30);
  });
});
