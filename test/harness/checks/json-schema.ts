type Schema = Readonly<Record<string, unknown>>;

/** Says nothing about a value. */
const ANNOTATIONS = new Set(['description', 'title', 'default', 'examples', 'deprecated', 'format', 'id', '$schema']);

type Check = (argument: unknown, value: unknown, at: string, schema: Schema) => string[];

/** Which problems a value has with a JSON Schema of `document`. A keyword it does not know is an error: nothing passes unchecked. */
export function schemaProblems(document: unknown, root: unknown, value: unknown): string[] {
  const run = (schema: unknown, given: unknown, at: string): string[] => {
    if (schema === true) return [];
    if (schema === false) return [`${at} must not be there`];
    return Object.entries(schema as Schema).flatMap(([keyword, argument]) => {
      if (ANNOTATIONS.has(keyword)) return [];
      const check = checks[keyword];
      if (check === undefined) throw new Error(`the schema uses ${keyword}, which is not checked`);
      return check(argument, given, at, schema as Schema);
    });
  };
  const alternatives = (argument: unknown, given: unknown, at: string) => (argument as unknown[]).map((each) => run(each, given, at));

  const checks: Readonly<Record<string, Check>> = {
    $ref: (target, given, at) => run(resolve(document, String(target)), given, at),
    type: (type, given, at) =>
      [type].flat().some((name) => hasType(given, name)) ? [] : [`${at} is not ${JSON.stringify(type)}: ${show(given)}`],
    enum: (values, given, at) =>
      (values as unknown[]).includes(given) ? [] : [`${at} is none of ${JSON.stringify(values)}: ${show(given)}`],
    const: (wanted, given, at) => (given === wanted ? [] : [`${at} is not ${JSON.stringify(wanted)}: ${show(given)}`]),
    pattern: (pattern, given, at) =>
      typeof given !== 'string' || new RegExp(String(pattern), 'u').test(given)
        ? []
        : [`${at} does not match ${String(pattern)}: ${given}`],
    minLength: (least, given, at) => (typeof given !== 'string' || given.length >= Number(least) ? [] : [`${at} is too short`]),
    maxLength: (most, given, at) => (typeof given !== 'string' || given.length <= Number(most) ? [] : [`${at} is too long`]),
    minimum: (least, given, at) => (typeof given !== 'number' || given >= Number(least) ? [] : [`${at} is below ${String(least)}`]),
    maximum: (most, given, at) => (typeof given !== 'number' || given <= Number(most) ? [] : [`${at} is above ${String(most)}`]),
    exclusiveMinimum: (least, given, at) =>
      typeof given !== 'number' || given > Number(least) ? [] : [`${at} is not above ${String(least)}`],
    minItems: (least, given, at) => (!Array.isArray(given) || given.length >= Number(least) ? [] : [`${at} has too few items`]),
    maxItems: (most, given, at) => (!Array.isArray(given) || given.length <= Number(most) ? [] : [`${at} has too many items`]),
    items: (schema, given, at) => (Array.isArray(given) ? given.flatMap((item, index) => run(schema, item, `${at}[${index}]`)) : []),
    required: (names, given, at) =>
      isRecord(given) ? (names as string[]).flatMap((name) => (Object.hasOwn(given, name) ? [] : [`${at}.${name} is missing`])) : [],
    properties: (properties, given, at) =>
      isRecord(given)
        ? Object.entries(properties as Schema).flatMap(([name, schema]) =>
            Object.hasOwn(given, name) ? run(schema, given[name], `${at}.${name}`) : [],
          )
        : [],
    additionalProperties: (schema, given, at, { properties = {} }) =>
      isRecord(given)
        ? Object.entries(given).flatMap(([name, item]) =>
            Object.hasOwn(properties as object, name) ? [] : run(schema, item, `${at}.${name}`),
          )
        : [],
    propertyNames: (schema, given, at) =>
      isRecord(given) ? Object.keys(given).flatMap((name) => run(schema, name, `${at} (a name)`)) : [],
    allOf: (all, given, at) => alternatives(all, given, at).flat(),
    anyOf: (any, given, at) => {
      const found = alternatives(any, given, at);
      return found.some((problems) => problems.length === 0) ? [] : [`${at} fits no alternative: ${found.flat().join('; ')}`];
    },
    oneOf: (one, given, at) => {
      const fits = alternatives(one, given, at).filter((problems) => problems.length === 0).length;
      return fits === 1 ? [] : [`${at} fits ${fits} alternatives instead of one`];
    },
  };
  return run(root, value, '$');
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const show = (value: unknown): string => JSON.stringify(value).slice(0, 120);

function hasType(value: unknown, type: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isRecord(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

/** `#/components/schemas/Market` → what stands there. */
export function resolve(document: unknown, reference: string): unknown {
  if (!reference.startsWith('#/')) throw new Error(`${reference} points outside the document`);
  const found = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((node, part) => (isRecord(node) ? node[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined), document);
  if (found === undefined) throw new Error(`${reference} points at nothing`);
  return found;
}
