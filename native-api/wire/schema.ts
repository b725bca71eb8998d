import { z } from 'zod';
import { DECIMAL_PATTERN, formatDecimal, isDecimal, MAX_DECIMAL_LENGTH, parseDecimal, type Decimal } from '../../core/domain/decimal.js';
import type { Address, Hex } from '../../core/types.js';

/** Primitives shared by both front ends. A codec decodes requests, encodes replies, and prints itself as JSON Schema. */

export const DecimalString = z
  .codec(z.string().max(MAX_DECIMAL_LENGTH).regex(DECIMAL_PATTERN, 'must be a decimal string'), z.custom<Decimal>(isDecimal), {
    decode: parseDecimal,
    encode: formatDecimal,
  })
  .meta({ id: 'Decimal' });

const same = { decode: (text: string) => text as `0x${string}`, encode: (text: string) => text };

export const AddressString = z.codec(
  z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex characters'),
  z.custom<Address>((value) => typeof value === 'string'),
  same,
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
