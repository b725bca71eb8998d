import { getAddress } from 'viem';
import { z } from 'zod';
import type { Request } from 'express';
import { DECIMAL_PATTERN, formatDecimal, isDecimal, MAX_DECIMAL_LENGTH, parseDecimal, type Decimal } from '../../core/domain/decimal.js';
import type { Address, Hex } from '../../core/types.js';
import { GatewayError, type Issue } from '../../core/errors.js';
import type { Operation } from '../operation.js';
import { bodyOf } from '../../http/request.js';
import { MAX_ISSUES, readStrictJson } from '../../http/strict-json.js';

/** Primitives shared by both front ends. A codec decodes requests, encodes replies, and prints itself as JSON Schema. */

export const DecimalString = z
  .codec(z.string().max(MAX_DECIMAL_LENGTH).regex(DECIMAL_PATTERN, 'must be a decimal string'), z.custom<Decimal>(isDecimal), {
    decode: parseDecimal,
    encode: formatDecimal,
  })
  .meta({ id: 'Decimal' });

const same = { decode: (text: string) => text as `0x${string}`, encode: (text: string) => text };

export const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export const AddressString = z.codec(
  z.string().regex(ADDRESS, 'must be 0x and 40 hex characters'),
  z.custom<Address>((value) => typeof value === 'string'),
  same,
);

const MIXED_CASE = /^0x(?=.*[a-f])(?=.*[A-F])/;
/** Zod runs refinements even if the pattern failed, and `getAddress` throws on an invalid address. */
const hasRightCase = (text: string): boolean => !ADDRESS.test(text) || !MIXED_CASE.test(text) || getAddress(text) === text;

/** Lower case inside, EIP-55 outside. An address in one case is accepted; in mixed case its checksum must match, to catch typing errors. */
export const AnyAddress = z.codec(
  z.string().regex(ADDRESS, 'must be 0x and 40 hex characters').refine(hasRightCase, 'must match its EIP-55 checksum, or be in one case'),
  z.custom<Address>((value) => typeof value === 'string'),
  { decode: (text) => text.toLowerCase() as Address, encode: (address) => getAddress(address) },
);

export const HexData = z.codec(
  z.string().regex(/^0x[0-9a-fA-F]*$/, 'must be 0x and hex characters'),
  z.custom<Hex>((value) => typeof value === 'string'),
  same,
);

export const EpochMs = z.int().nonnegative();

/** Converts an internal value to its wire form, ready for JSON. */
type Encode = (value: unknown) => unknown;

const asItIs: Encode = (value) => value;

/**
 * Equivalent to a schema's own `encode`, but the schema is walked only once, which leaves little work per reply. Missing fields and wrong
 * types throw; patterns and bounds are left to types and tests. What a walk cannot decide (which of several forms a value has) is left
 * to the schema.
 */
export function encoderOf(schema: z.core.$ZodType): Encode {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return def.catchall === undefined || def.catchall._zod.def.type === 'never' ? objectEncoder(def.shape) : bySchema(schema);
    case 'array':
      return listEncoder(encoderOf(def.element));
    case 'record':
      return recordEncoder(encoderOf(def.valueType));
    case 'nullable':
    case 'optional':
      return unlessAbsent(encoderOf(def.innerType));
    case 'pipe':
      return pipeEncoder(def);
    case 'string':
      return changes(def.checks) ? bySchema(schema) : only((value) => typeof value === 'string', 'a text');
    case 'number':
      return changes(def.checks) ? bySchema(schema) : only(Number.isFinite, 'a number');
    case 'boolean':
      return only((value) => typeof value === 'boolean', 'true or false');
    case 'enum':
      return oneOf(Object.values(def.entries));
    case 'literal':
      return oneOf(def.values);
    default:
      return bySchema(schema);
  }
}

const only =
  (is: (value: unknown) => boolean, what: string): Encode =>
  (value) => {
    if (!is(value)) throw new TypeError(`a reply has ${typeof value} where ${what} belongs`);
    return value;
  };

function oneOf(values: readonly unknown[]): Encode {
  const known = new Set(values);
  return only((value) => known.has(value), 'one of a few words');
}

const bySchema =
  (schema: z.core.$ZodType): Encode =>
  (value) =>
    z.encode(schema, value);

function objectEncoder(shape: Readonly<Record<string, z.core.$ZodType>>): Encode {
  const fields = Object.entries(shape).map(([key, field]) => ({
    key,
    encode: encoderOf(field),
    isOptional: field._zod.optout === 'optional',
  }));
  return (value) => {
    const given = value as Readonly<Record<string, unknown>>;
    const made: Record<string, unknown> = {};
    for (const { key, encode, isOptional } of fields) {
      const field = given[key];
      if (field !== undefined) made[key] = encode(field);
      else if (!isOptional) throw new TypeError(`a reply lacks ${key}`);
    }
    return made;
  };
}

function listEncoder(encode: Encode): Encode {
  return (value) => (value as readonly unknown[]).map(encode);
}

function recordEncoder(encode: Encode): Encode {
  return (value) => Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, encode(item)]));
}

function unlessAbsent(encode: Encode): Encode {
  return (value) => (value === null || value === undefined ? value : encode(value));
}

/** A codec applies its reverse transform to the output of its outer half; a plain pipe passes it on. */
function pipeEncoder({ in: wire, out, reverseTransform }: z.core.$ZodPipeDef): Encode {
  const outer = out._zod.def.type === 'custom' ? asItIs : encoderOf(out); // a type of ours, which has no form but its own
  const inner = encoderOf(wire);
  if (reverseTransform === undefined) return outer === asItIs ? inner : (value) => inner(outer(value));
  const turn = reverseTransform as (value: unknown) => unknown;
  return (value) => inner(turn(outer(value)));
}

/** Whether a check rewrites its value. */
const changes = (checks: readonly z.core.$ZodCheck[] = []): boolean => checks.some(({ _zod: { def } }) => def.check === 'overwrite');

/** The JSON of a value, by its schema. */
export function textOf<Schema extends z.ZodType>(schema: Schema): (value: z.output<Schema>) => string {
  const encode = encoderOf(schema);
  return (value) => JSON.stringify(encode(value));
}

interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** An operation without a query schema accepts none: a misspelt parameter must not be dropped silently. */
const NO_QUERY = z.strictObject({});

/** Decodes a request with the operation's schemas; one reply reports every fault of every part. */
export function decodeInput(operation: Operation, request: Request): Input {
  const issues: Issue[] = [];
  const params = decode(operation.params, without(request.params, 'chain'), issues);
  const query = decode(operation.query ?? NO_QUERY, request.query, issues);
  const body = decodeBody(operation, request, issues);
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues: issues.slice(0, MAX_ISSUES) });
  return { params, query, body };
}

function decodeBody(operation: Operation, request: Request, issues: Issue[]): unknown {
  const bytes = bodyOf(request);
  if (operation.body === undefined) {
    if (bytes.length > 0) issues.push({ path: '', message: 'must be empty: this operation takes no body' });
    return undefined;
  }
  if (bytes.length === 0) return decodeNothing(operation.body, issues);
  if (!saysJson(request.headers['content-type']))
    return void issues.push({ path: '', message: 'must be sent with Content-Type: application/json' });
  return decode(operation.body, readStrictJson(bytes), issues);
}

/** A body whose fields are all optional may be omitted itself, if its schema allows it. */
function decodeNothing(schema: z.ZodType, issues: Issue[]): unknown {
  const decoded = schema.safeParse(undefined);
  return decoded.success ? decoded.data : void issues.push({ path: '', message: 'must be a JSON object' });
}

/** An absent Content-Type is accepted: the parser decides. */
const saysJson = (type: string | undefined): boolean =>
  type === undefined || /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(type.trim());

function decode(schema: z.ZodType | undefined, value: unknown, issues: Issue[]): unknown {
  if (schema === undefined) return undefined;
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  issues.push(...issuesOf(decoded.error));
  return undefined;
}

export const issuesOf = ({ issues }: z.ZodError): Issue[] => issues.flatMap(toIssues);

/** An unknown field is named itself, not the object that contains it. */
function toIssues(issue: z.core.$ZodIssue): Issue[] {
  const path = issue.path.map((part) => readable(String(part)));
  if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: issue.message }];
  return issue.keys.map((key) => ({ path: [...path, readable(key)].join('.'), message: 'is not a field of this request' }));
}

/** The router has already resolved the chain. */
const without = (record: object, name: string): object => Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));

const readable = (text: string): string => text.slice(0, 64);
