import type { z } from 'zod';
import type { JsonSchema, SchemaPrinter } from '../openapi-schemas.js';
import { ANSWERS, Beat, ByKey, BySignature, CHANNELS, isPrivate, MESSAGES, SUBSCRIPTIONS } from '../wire/stream.js';
import { SESSION_LIMITS } from './session.js';

const DESCRIPTION =
  'After `hello` a client subscribes. The first message of a subscription is its snapshot; `seq` rises by one per message. Channels of an account need `auth` first: ' +
  'by API key, or by a signature of primary type `wsAuth` over method `WS`, path `/v1/{chain}/ws` and the empty body. Their `cursor` is that of the account journal; ' +
  'subscribing to orders or fills with `after` goes on from there without a snapshot. Whatever a client says answers the heartbeat; after two unanswered ones the line is closed with 1001. ' +
  'A service that ends closes with 1012: come back, with the cursor, to the same address. ' +
  'A line that cannot keep up is closed with 1013: prices, book and candles are merged for it first, orders and fills never.';

const printAll = (schemas: Readonly<Record<string, z.ZodType>>, print: (schema: z.ZodType) => JsonSchema): JsonSchema =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, print(schema)]));

/** OpenAPI cannot describe WebSockets; the schemas that parse and write the messages describe them here. */
export const describeSocket = (printer: SchemaPrinter): JsonSchema => ({
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
