import { z } from 'zod';
import { CHAIN_SLUGS } from '../core/chains/chains.js';
import { CATALOGUE, LIMIT_SCOPES, type ErrorCode } from '../core/errors.js';
import { errorsOf, pathParameters, type Operation } from './operation.js';
import { MAX_WAIT_SECONDS } from '../core/trading/wait-for-order.js';
import { ANSWERS, Beat, ByKey, BySignature, CHANNELS, isPrivate, MESSAGES, SUBSCRIPTIONS } from './wire/stream.js';
import { SESSION_LIMITS } from './ws/session.js';

export interface OpenApiDocument extends Readonly<Record<string, unknown>> {
  readonly openapi: '3.1.0';
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> } & Readonly<Record<string, unknown>>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly parameters: readonly ParameterObject[];
  readonly responses: Readonly<Record<string, { readonly content: { readonly 'application/json': { readonly schema: JsonSchema } } }>>;
  readonly [more: string]: unknown;
}

interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: unknown;
}

const json = (schema: JsonSchema) => ({ 'application/json': { schema } });
const ref = (section: string, name: string) => ({ $ref: `#/components/${section}/${name}` });

export const documentedPath = ({ scope, path }: Operation): string =>
  (scope === 'venue' ? `/v1/{chain}${path === '/' ? '' : path}` : path).replaceAll(/:(\w+)/g, '{$1}');

/** The OpenAPI document, derived entirely from the rows. */
export function openApiDocument(operations: readonly Operation[], headerPrefix: string): OpenApiDocument {
  const printer = createSchemaPrinter();
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of operations)
    (paths[documentedPath(operation)] ??= {})[operation.method.toLowerCase()] = describe(operation, printer);
  const socket = describeSocket(printer);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Diamond Gateway',
      version: '1.0.0',
      description:
        'Non-custodial perpetual trading. Every price, size and rate is a decimal string; every timestamp is in epoch milliseconds. `GET /v1/{chain}` publishes what a client signs.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(tagOf))].map((name) => ({ name })),
    paths,
    'x-websocket': socket,
    components: {
      schemas: { ...printer.components(), Error: ERROR_SCHEMA },
      headers: HEADERS,
      securitySchemes: securitySchemes(headerPrefix),
    },
  };
}

function describe(operation: Operation, printer: SchemaPrinter): OperationObject {
  const { id, auth, summary, body } = operation;
  return {
    operationId: id,
    summary,
    tags: [tagOf(operation)],
    security: SECURITY[auth],
    parameters: [...pathParametersOf(operation, printer), ...queryParametersOf(operation, printer), ...waitParametersOf(operation)],
    ...(body === undefined ? {} : { requestBody: { required: !body.safeParse(undefined).success, content: json(printer.print(body)) } }),
    responses: merge(successes(operation, printer), failures(errorsOf(operation))),
  };
}

function tagOf({ scope, path }: Operation): string {
  const [, group = ''] = path.split('/');
  return scope === 'gateway' || group === '' ? 'system' : group;
}

function propertiesOf(schema: JsonSchema): { readonly properties: Record<string, unknown>; readonly required: readonly string[] } {
  const { properties = {}, required = [] } = schema;
  return { properties: properties as Record<string, unknown>, required: required as readonly string[] };
}

function pathParametersOf(operation: Operation, printer: SchemaPrinter): ParameterObject[] {
  const { properties } = operation.params === undefined ? { properties: {} } : propertiesOf(printer.print(operation.params));
  const known: Record<string, unknown> = { chain: { type: 'string', enum: CHAIN_SLUGS }, ...properties };
  const names = [...(operation.scope === 'venue' ? ['chain'] : []), ...pathParameters(operation.path)];
  return names.map((name) => ({ name, in: 'path', required: true, schema: known[name] ?? { type: 'string' } }));
}

function queryParametersOf({ query }: Operation, printer: SchemaPrinter): ParameterObject[] {
  if (query === undefined) return [];
  const { properties, required } = propertiesOf(printer.print(query));
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema }));
}

const PREFER = {
  name: 'Prefer',
  in: 'header',
  required: false,
  schema: { type: 'string', examples: [`wait=${MAX_WAIT_SECONDS}`] },
  description: `\`wait=N\`: answer when the order is final or rests, or after N seconds with what is known; at most ${MAX_WAIT_SECONDS}.`,
} as const;

const waitParametersOf = ({ waits }: Operation): ParameterObject[] => (waits === true ? [PREFER] : []);

const RATE_HEADERS = Object.fromEntries(
  ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'X-Request-Id', 'cf-ray'].map((name) => [name, ref('headers', name)]),
);

function successes({ statuses = [200], reply, summary, waits }: Operation, printer: SchemaPrinter): OperationObject['responses'] {
  const headers = waits === true ? { ...RATE_HEADERS, 'Preference-Applied': ref('headers', 'Preference-Applied') } : RATE_HEADERS;
  const answer = { description: summary, headers, content: json(printer.printReply(reply)) };
  return Object.fromEntries(statuses.map((status) => [String(status), answer]));
}

/** A status with both a regular reply and an error documents both shapes. */
function merge(good: OperationObject['responses'], bad: OperationObject['responses']): OperationObject['responses'] {
  const both = Object.entries(good).flatMap(([status, answer]) => {
    const other = bad[status];
    const shapes = [answer, ...(other ? [other] : [])].map(({ content }) => content['application/json'].schema);
    return other ? [[status, { ...answer, content: json({ anyOf: shapes }) }] as const] : [];
  });
  return { ...good, ...bad, ...Object.fromEntries(both) };
}

/** One response per status, with its possible codes. */
function failures(codes: readonly ErrorCode[]): OperationObject['responses'] {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(CATALOGUE[code].status, [...(byStatus.get(CATALOGUE[code].status) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, listed]) => [
      String(status),
      {
        description: listed.join(', '),
        headers: listed.some(mayBeTriedAgain) ? { ...RATE_HEADERS, 'Retry-After': ref('headers', 'Retry-After') } : RATE_HEADERS,
        content: json({ allOf: [ref('schemas', 'Error'), { properties: { code: { enum: listed } } }] }),
      },
    ]),
  );
}

/** Errors with a Retry-After header. */
const mayBeTriedAgain = (code: ErrorCode): boolean => code === 'RATE_LIMITED' || code === 'NOT_READY';

const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    code: { type: 'string', enum: Object.keys(CATALOGUE), description: 'Stable; the one thing to match on.' },
    message: { type: 'string', description: 'For people; may change at any time.' },
    details: { type: 'object', description: 'The figures the message quotes.' },
  },
  required: ['code', 'message'],
  additionalProperties: false,
};

const whole = (description: string) => ({ description, schema: { type: 'integer', minimum: 0 } });
const text = (description: string) => ({ description, schema: { type: 'string' } });
const HEADERS = {
  'RateLimit-Limit': whole(`Requests per minute of the tightest bucket that applied (${LIMIT_SCOPES.join(', ')}).`),
  'RateLimit-Remaining': whole('Requests left in that window.'),
  'RateLimit-Reset': whole('Seconds until the window ends.'),
  'Retry-After': whole('Seconds to wait.'),
  'Preference-Applied': text('`wait=N` when the wish to wait was granted.'),
  'X-Request-Id': text('Names this request in our logs.'),
  'cf-ray': text("The trusted proxy's name of this request, else the request id; quote it when reporting INTERNAL."),
};

const AGENT = { agent: [], agentTimestamp: [], agentNonce: [], agentSignature: [] };
const SECURITY = { none: [], master: [], agent: [AGENT], reader: [AGENT, { apiKey: [] }], optional: [{}, AGENT] };

function securitySchemes(prefix: string): JsonSchema {
  const header = (name: string, description: string) => ({ type: 'apiKey', in: 'header', name: `${prefix}${name}`, description });
  return {
    agent: header('Agent', 'The agent address.'),
    agentTimestamp: header('Timestamp', 'Epoch milliseconds, within 30 seconds of server time.'),
    agentNonce: header('Nonce', 'A whole number this agent never used before.'),
    agentSignature: header(
      'Signature',
      'EIP-712 signature in the domain `GET /v1/{chain}` publishes; the operationId is the primary type, the fields are method, path with its query, bodyHash, timestamp and nonce.',
    ),
    apiKey: header('Api-Key', 'A read-only key issued by `POST /v1/{chain}/api-keys`.'),
  };
}

export type JsonSchema = Readonly<Record<string, unknown>>;

interface SchemaPrinter {
  /** The wire format of a schema: the input side of a codec, for requests and replies, as replies are encoded. */
  print(schema: z.ZodType): JsonSchema;
  /** Replies have no undocumented fields. */
  printReply(schema: z.ZodType): JsonSchema;
  /** The named schemas, each once. */
  components(): Readonly<Record<string, JsonSchema>>;
}

/** Prints the registry's schemas; named ones (`.meta({ id })`) are collected and referenced. */
function createSchemaPrinter(): SchemaPrinter {
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

const DESCRIPTION =
  'After `hello` a client subscribes. The first message of a subscription is its snapshot; `seq` rises by one per message. Channels of an account need `auth` first: ' +
  'by API key, or by a signature of primary type `wsAuth` over method `WS`, path `/v1/{chain}/ws` and the empty body. Their `cursor` is that of the account journal; ' +
  'subscribing to orders or fills with `after` goes on from there without a snapshot. Whatever a client says answers the heartbeat; after two unanswered ones the line is closed with 1001. ' +
  'A service that ends closes with 1012: come back, with the cursor, to the same address. ' +
  'After the database lost commits, lines that follow orders or fills are closed with 4001, and a cursor of what was lost is refused with `details.cursorLost`. ' +
  'A line that cannot keep up is closed with 1013: prices, book and candles are merged for it first, orders and fills never.';

const printAll = (schemas: Readonly<Record<string, z.ZodType>>, print: (schema: z.ZodType) => JsonSchema): JsonSchema =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, print(schema)]));

/** OpenAPI cannot describe WebSockets; the schemas that parse and write the messages describe them here. */
const describeSocket = (printer: SchemaPrinter): JsonSchema => ({
  path: '/v1/{chain}/ws',
  description: DESCRIPTION,
  heartbeatMs: SESSION_LIMITS.heartbeatMs,
  subscriptions: SESSION_LIMITS.subscriptions,
  private: CHANNELS.filter(isPrivate),
  client: {
    auth: { anyOf: [ByKey, BySignature].map((schema) => printer.print(schema)) },
    beat: printer.print(Beat),
    subscribe: printAll(SUBSCRIPTIONS, (schema) => printer.print(schema)),
  },
  server: {
    answers: printAll(ANSWERS, (schema) => printer.printReply(schema)),
    messages: printAll(MESSAGES, (schema) => printer.printReply(schema)),
  },
});
