import { z } from 'zod';

/** A value of ours as its wire form, ready for JSON. */
export type Encode = (value: unknown) => unknown;

const asItIs: Encode = (value) => value;

/**
 * What a schema's own `encode` makes of a value, without asking again whether the value fits: what we answer is ours, and its types and
 * the tests say that it does. The schema is walked once, which leaves a small part of the work for each answer. What a walk cannot
 * know (which of several forms a value has) is left to the schema.
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
    case 'number':
      return changes(def.checks) ? bySchema(schema) : asItIs;
    case 'boolean':
    case 'enum':
    case 'literal':
    case 'null':
      return asItIs;
    default:
      return bySchema(schema);
  }
}

const bySchema =
  (schema: z.core.$ZodType): Encode =>
  (value) =>
    z.encode(schema, value);

function objectEncoder(shape: Readonly<Record<string, z.core.$ZodType>>): Encode {
  const fields = Object.entries(shape).map(([key, field]) => [key, encoderOf(field)] as const);
  return (value) => {
    const given = value as Readonly<Record<string, unknown>>;
    const made: Record<string, unknown> = {};
    for (const [key, encode] of fields) {
      const field = given[key];
      if (field !== undefined) made[key] = encode(field);
    }
    return made;
  };
}

function listEncoder(encode: Encode): Encode {
  if (encode === asItIs) return asItIs;
  return (value) => (value as readonly unknown[]).map(encode);
}

function recordEncoder(encode: Encode): Encode {
  if (encode === asItIs) return asItIs;
  return (value) => Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, encode(item)]));
}

function unlessAbsent(encode: Encode): Encode {
  if (encode === asItIs) return asItIs;
  return (value) => (value === null || value === undefined ? value : encode(value));
}

/** A codec turns round what its outer half gives it; a plain pipe hands it on. */
function pipeEncoder({ in: wire, out, reverseTransform }: z.core.$ZodPipeDef): Encode {
  const outer = out._zod.def.type === 'custom' ? asItIs : encoderOf(out); // a type of ours, which has no form but its own
  const inner = encoderOf(wire);
  if (reverseTransform === undefined) return outer === asItIs ? inner : (value) => inner(outer(value));
  const turn = reverseTransform as (value: unknown) => unknown;
  return (value) => inner(turn(outer(value)));
}

/** Some checks rewrite what they are given. */
const changes = (checks: readonly z.core.$ZodCheck[] = []): boolean => checks.some(({ _zod: { def } }) => def.check === 'overwrite');

/** The JSON of a value, by its schema. */
export function textOf<Schema extends z.ZodType>(schema: Schema): (value: z.output<Schema>) => string {
  const encode = encoderOf(schema);
  return (value) => JSON.stringify(encode(value));
}
