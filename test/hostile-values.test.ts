import { z } from 'zod';
import { GatewayError } from '../core/errors.js';
import { MAX_JSON_ITEMS, readStrictJson } from '../http/strict-json.js';
import { ACTIONS } from '../facade/actions/index.js';
import { INFO_TYPES } from '../facade/info/info-handler.js';
import { decodeAction } from '../facade/signing/read-body.js';
import { readOrderedJson, type JsonObject } from '../facade/signing/ordered-json.js';
import { readFrame } from '../facade/ws/frames.js';
import { findSubscription, SUBSCRIPTION_NAMES } from '../facade/ws/subscriptions.js';
import { OPERATIONS } from '../native-api/operations/index.js';
import { Addressed, Beat, ByKey, BySignature, Spoken, SUBSCRIPTIONS } from '../native-api/wire/stream.js';
import { readMessage } from '../native-api/ws/messages.js';
import { OPERATOR_ROUTES } from '../relayer/operator/operator-routes.js';
import { SANDBOX_BODIES } from '../sandbox/routes.js';
import { hostileVariants, sampleOf } from './harness/checks/hostile-values.js';

type Named = readonly [name: string, schema: z.ZodType];
const given = (name: string, schema: z.ZodType | undefined): Named[] => (schema === undefined ? [] : [[name, schema]]);
const parts = (
  name: string,
  row: { readonly params?: z.ZodType | undefined; query?: z.ZodType | undefined; body?: z.ZodType | undefined },
) => [...given(`params of ${name}`, row.params), ...given(`query of ${name}`, row.query), ...given(`body of ${name}`, row.body)];

/** Every schema that decodes what a client sends, from the registries that the front ends are made of. */
const SCHEMAS: readonly Named[] = [
  ...OPERATIONS.flatMap((operation) => parts(operation.id, operation)),
  ...OPERATOR_ROUTES.flatMap((route) => parts(`${route.method} ${route.path}`, route)),
  ...Object.entries({ Spoken, Addressed, Beat, ByKey, BySignature }).map(([name, schema]): Named => [`message ${name}`, schema]),
  ...Object.entries(SUBSCRIPTIONS).map(([name, schema]): Named => [`subscription to ${name}`, schema]),
  ...[...ACTIONS.values()].flatMap((row) => (row.scheme === 'l1' && row.schema !== 'any' ? given(`action ${row.type}`, row.schema) : [])),
  ...[...INFO_TYPES.values()].map(({ type, fields }): Named => [`info ${type}`, fields]),
  ...SUBSCRIPTION_NAMES.flatMap((name) => given(`facade subscription ${name}`, findSubscription(name)?.fields)),
  ...Object.entries(SANDBOX_BODIES).map(([name, schema]): Named => [`sandbox ${name}`, schema]),
];

/** What a call throws besides errors of the catalogue. */
function faultsOf(values: Iterable<unknown>, read: (value: unknown) => unknown): unknown[] {
  const faults: unknown[] = [];
  for (const value of values)
    try {
      read(value);
    } catch (error) {
      if (!(error instanceof GatewayError)) faults.push({ value, error });
    }
  return faults;
}

describe('a schema', () => {
  it('is checked with samples that it takes', () => {
    expect(SCHEMAS.length).toBeGreaterThan(100);
    const untaken = SCHEMAS.filter(([, schema]) => !schema.safeParse(sampleOf(schema)).success).map(([name]) => name);
    expect(untaken).toEqual([]);
  });

  it.each(SCHEMAS)('refuses or takes any value for %s without throwing', (_name, schema) => {
    expect(faultsOf(hostileVariants(sampleOf(schema)), (value) => schema.safeParse(value)).slice(0, 3)).toEqual([]);
  });
});

/** Texts that are JSON where `JSON.stringify` can write the value, and no JSON where it cannot. */
const textOf = (value: unknown): Buffer => {
  const text = JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? `#${each}` : each)) as string | undefined;
  return Buffer.from((text ?? '').replaceAll(/"#(\d+)"/g, '$1'));
};

describe('what is read before a schema', () => {
  it.each([...ACTIONS.values()].flatMap((row) => (row.scheme === 'l1' && row.schema !== 'any' ? [[row.type, row.schema] as const] : [])))(
    'makes of any action %s either what was meant or a refusal',
    (_type, schema) => {
      const decode = (value: unknown): void => {
        const json = readOrderedJson(textOf(value));
        if (json instanceof Map) decodeAction(schema, json as JsonObject);
      };
      expect(faultsOf(hostileVariants(sampleOf(schema)), decode).slice(0, 3)).toEqual([]);
    },
  );

  it('reads any frame and any message', () => {
    const frames = [
      { method: 'subscribe', subscription: { type: 'l2Book', coin: 'BTC' } },
      { method: 'post', id: 1, request: { type: 'info', payload: { type: 'meta' } } },
      { op: 'subscribe', channel: 'book', market: 'BTC/USD' },
      { op: 'auth', apiKey: 'a key' },
    ];
    for (const frame of frames) {
      expect(faultsOf(hostileVariants(frame), (value) => readFrame(textOf(value), false)).slice(0, 3)).toEqual([]);
      expect(faultsOf(hostileVariants(frame), (value) => readMessage(textOf(value), false)).slice(0, 3)).toEqual([]);
    }
  });

  it('lets no list through that is so long that its faults cannot be listed', () => {
    const long = Array.from({ length: 131_000 }, () => 0);
    const order = z.object({ orders: z.array(z.string()) });
    expect(faultsOf([{ orders: long }], (value) => decodeAction(order, readOrderedJson(textOf(value)) as JsonObject))).toEqual([]);
    expect(faultsOf([{ orders: long }], (value) => order.safeParse(readStrictJson(textOf(value))))).toEqual([]);
    const most = { orders: long.slice(0, MAX_JSON_ITEMS) };
    expect(faultsOf([most], (value) => order.safeParse(readStrictJson(textOf(value))))).toEqual([]);
  });
});
