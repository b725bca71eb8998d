import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface SchemaPrinter {
  /** The wire format of a schema: the input side of a codec, for requests and replies, as replies are encoded. */
  print(schema: z.ZodType): JsonSchema;
  /** Replies have no undocumented fields. */
  printReply(schema: z.ZodType): JsonSchema;
  /** The named schemas, each once. */
  components(): Readonly<Record<string, JsonSchema>>;
}

/** Prints the registry's schemas; named ones (`.meta({ id })`) are collected and referenced. */
export function createSchemaPrinter(): SchemaPrinter {
  const components: Record<string, JsonSchema> = {};

  const print = (schema: z.ZodType, closed: boolean): JsonSchema => {
    const printed: Record<string, unknown> = { ...z.toJSONSchema(schema, { io: 'input', override: tidy(closed) }) };
    const { $defs = {}, ...rest } = relocate(printed) as Record<string, unknown>;
    delete rest['$schema'];
    for (const [name, component] of Object.entries($defs as Record<string, Record<string, unknown>>)) keep(name, component);
    const name = z.globalRegistry.get(schema)?.id;
    if (name === undefined || '$ref' in rest) return rest;
    keep(name, rest);
    return { $ref: `#/components/schemas/${name}` };
  };

  const keep = (name: string, component: Record<string, unknown>): void => {
    delete component['id'];
    const known = components[name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component))
      throw new Error(`Two different schemas are called ${name}.`);
    components[name] = component;
  };

  return { print: (schema) => print(schema, false), printReply: (schema) => print(schema, true), components: () => components };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `#/$defs/X` → `#/components/schemas/X`, at any depth. */
function relocate(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(relocate);
  if (!isRecord(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) =>
      key === '$ref' && typeof value === 'string' ? [key, value.replace('#/$defs/', '#/components/schemas/')] : [key, relocate(value)],
    ),
  );
}

const UNBOUNDED = Number.MAX_SAFE_INTEGER;

/** Removes the bounds that merely express JavaScript's integer range. */
function tidy(closed: boolean): (context: { jsonSchema: z.core.JSONSchema.BaseSchema }) => void {
  return ({ jsonSchema }) => {
    if (jsonSchema.minimum === -UNBOUNDED) delete jsonSchema.minimum;
    if (jsonSchema.maximum === UNBOUNDED) delete jsonSchema.maximum;
    if (closed && jsonSchema.type === 'object' && jsonSchema.properties !== undefined) jsonSchema.additionalProperties ??= false;
  };
}
