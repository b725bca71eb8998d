import { z } from 'zod';
import type { Dictionary } from './dictionary.js';
import type { Random } from './random.js';

/** Makes a value that fits a schema, or nearly: refinements over several fields are met only by luck. */
export type MakeExample = (schema: z.ZodType, random: Random) => unknown;

/** No schema of ours is deeper; one that holds itself ends here. */
const DEEPEST = 24;
const MOST_ITEMS = 3;
const ABSENT = Symbol('absent');

type Def = z.core.$ZodTypeDef & {
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly items?: readonly z.ZodType[];
  readonly options?: readonly z.ZodType[];
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, string | number>>;
  readonly keyType?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly getter?: () => z.ZodType;
};

const defOf = (schema: z.ZodType): Def => schema._zod.def;

/** What comes in is what a client sends; a preprocessing step or `unknown` in front says nothing about it. */
const saysNothing = (schema: z.ZodType | undefined): boolean =>
  schema === undefined || defOf(schema).type === 'transform' || defOf(schema).type === 'unknown';

/** A refinement of ours that throws is what is looked for, but not here. */
function fits(schema: z.ZodType, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false;
  }
}

export function createExamples({ words, numbers }: Dictionary): MakeExample {
  const known = new WeakMap<z.ZodType, readonly unknown[]>();

  /** What a leaf takes of the dictionary, found out once per leaf. */
  const leafChoices = (schema: z.ZodType, all: readonly unknown[]): readonly unknown[] => {
    const found = known.get(schema);
    if (found !== undefined) return found;
    const chosen = all.filter((value) => fits(schema, value));
    const choices = chosen.length > 0 ? chosen : all;
    known.set(schema, choices);
    return choices;
  };

  const make = (schema: z.ZodType, random: Random, depth: number): unknown => {
    const def = defOf(schema);
    if (depth > DEEPEST) return null;
    switch (def.type) {
      case 'string':
        return random.pick(leafChoices(schema, words));
      case 'number':
        return random.pick(leafChoices(schema, numbers));
      case 'boolean':
        return random.chance(0.5);
      case 'literal':
        return random.pick(def.values ?? [null]);
      case 'enum':
        return random.pick(Object.values(def.entries ?? { none: '' }));
      case 'null':
        return null;
      case 'array':
        return makeAll(Array<z.ZodType | undefined>(random.int(1, MOST_ITEMS)).fill(def.element), random, depth);
      case 'tuple':
        return makeAll(def.items ?? [], random, depth);
      case 'union':
        return makeInner(random.pick(def.options ?? []), random, depth);
      case 'optional':
      case 'default':
        return random.chance(0.5) ? ABSENT : makeInner(def.innerType, random, depth);
      case 'prefault':
        return random.chance(0.2) ? ABSENT : makeInner(def.innerType, random, depth);
      case 'nullable':
        return random.chance(0.3) ? null : makeInner(def.innerType, random, depth);
      case 'readonly':
      case 'nonoptional':
      case 'catch':
        return makeInner(def.innerType, random, depth);
      case 'lazy':
        return makeInner(def.getter?.(), random, depth);
      case 'pipe':
        return makeInner(saysNothing(def.in) ? def.out : def.in, random, depth);
      case 'record':
        return { [String(makeInner(def.keyType, random, depth))]: makeInner(def.valueType, random, depth) };
      case 'object':
        return makeFields(def.shape ?? {}, random, depth);
      default:
        return random.pick(words);
    }
  };

  const makeInner = (schema: z.ZodType | undefined, random: Random, depth: number): unknown =>
    schema === undefined ? null : make(schema, random, depth + 1);

  const makeAll = (schemas: readonly (z.ZodType | undefined)[], random: Random, depth: number): unknown[] =>
    schemas.map((schema) => {
      const value = makeInner(schema, random, depth);
      return value === ABSENT ? null : value;
    });

  const makeFields = (shape: Readonly<Record<string, z.ZodType>>, random: Random, depth: number): Record<string, unknown> => {
    const fields: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(shape)) {
      const value = makeInner(field, random, depth);
      if (value !== ABSENT) fields[key] = value;
    }
    return fields;
  };

  return (schema, random) => {
    const value = make(schema, random, 0);
    return value === ABSENT ? {} : value;
  };
}
