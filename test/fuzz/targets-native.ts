import type { z } from 'zod';
import type { Operation } from '../../native-api/operation.js';
import { OPERATIONS } from '../../native-api/operations/index.js';
import { Beat, ByKey, BySignature, SUBSCRIPTIONS } from '../../native-api/wire/stream.js';
import { LAST_ID, type FrameInput, type HttpInput, type SequenceInput, type Signing } from './input.js';
import { bodyOf, encodeWord, mutateTree, mutateWord } from './mutate.js';
import type { Random } from './random.js';
import { oddHeaders, type Materials } from './materials.js';
import { objectTree, treeOf, writeTree } from './tree.js';

/** Inputs for `/v1`, made from the registry of operations and from the schemas of the socket. */

const SLUG_OF_NOTHING = ['arbitrum-one', '', '..', 'ARBITRUM-SEPOLIA', '%00', '__proto__'];

const wordsIn = (value: unknown): [string, string][] =>
  typeof value === 'object' && value !== null ? Object.entries(value).map(([key, each]) => [key, String(each)]) : [];

export function pathOf(
  { example, slug }: Materials,
  operation: Pick<Operation, 'path' | 'params'> & { readonly scope?: string },
  random: Random,
  changed: number,
): string {
  const params = new Map(operation.params === undefined ? [] : wordsIn(example(operation.params, random)));
  const filled = operation.path.replace(/:(\w+)/g, (_whole, name: string) => {
    const word = encodeWord(params.get(name) ?? 'x');
    return random.chance(changed) ? mutateWord(word, random) : word;
  });
  if (operation.scope !== 'venue') return filled;
  const chain = random.chance(changed / 8) ? random.pick(SLUG_OF_NOTHING) : slug;
  return `/v1/${chain}${filled === '/' ? '' : filled}`;
}

export function queryOf({ example }: Materials, schema: z.ZodType | undefined, random: Random, changed: number): string {
  const words = schema === undefined ? [] : wordsIn(example(schema, random));
  if (random.chance(changed / 4)) words.push([random.pick(['x', '__proto__', 'limit', 'cursor', '']), '1']);
  const pairs = words.map(
    ([key, value]) => `${encodeWord(key)}=${random.chance(changed) ? mutateWord(encodeWord(value), random) : encodeWord(value)}`,
  );
  if (pairs.length > 0 && random.chance(changed / 4)) pairs.push(random.pick(pairs));
  return pairs.length === 0 ? '' : `?${pairs.join(random.chance(0.02) ? ';' : '&')}`;
}

const isPublic = ({ auth }: Operation): boolean => auth === 'none' || auth === 'optional';
/** Charts are put together anew for every range that is asked for, so they are asked for less often than the others. */
const isDear = ({ path }: Operation): boolean => path.endsWith('/candles');
const PUBLIC = OPERATIONS.filter(isPublic);
const CHEAP = PUBLIC.filter((operation) => !isDear(operation));
const MASTER = OPERATIONS.filter(({ auth }) => auth === 'master');
const SIGNED = OPERATIONS.filter(({ auth }) => auth === 'agent' || auth === 'reader' || auth === 'optional');

const pathChange = 0.35;

export function publicRead(materials: Materials, random: Random): HttpInput {
  const operation = random.pick(random.chance(0.9) ? CHEAP : PUBLIC);
  const path = `${pathOf(materials, operation, random, pathChange)}${queryOf(materials, operation.query, random, pathChange)}`;
  const method = random.chance(0.04) ? random.pick(['PUT', 'DELETE', 'OPTIONS', 'HEAD', 'POST', 'PROPFIND']) : operation.method;
  const body = operation.body === undefined ? null : bodyOf(treeOf(materials.example(operation.body, random)), random);
  return { kind: 'http', method, path, headers: oddHeaders(random, body !== null), body: random.chance(0.02) ? Buffer.from('{}') : body };
}

/** Credentials that are none: each header is there, and wrong in its own way. */
function wrongCredentials({ example }: Materials, random: Random): [string, string][] {
  const { agent, timestamp, nonce, signature } = example(BySignature, random) as Record<string, string>;
  const headers: [string, string][] = [
    ['X-Service-Agent', agent ?? ''],
    ['X-Service-Timestamp', timestamp ?? ''],
    ['X-Service-Nonce', nonce ?? ''],
    ['X-Service-Signature', signature ?? ''],
  ];
  if (random.chance(0.2)) return [['X-Service-Api-Key', random.pick(['', 'x', 'dg_fuzz', 'é', '0'.repeat(600)])]];
  return headers.filter(() => random.chance(0.9)).map(([name, value]) => [name, asHeader(value)]);
}

const asHeader = (text: string): string => text.replace(/[^\x21-\x7e]/g, '');

export function unsignedWrite(materials: Materials, random: Random): HttpInput {
  const operation = random.pick(SIGNED);
  const path = `${pathOf(materials, operation, random, 0.1)}${queryOf(materials, operation.query, random, 0.1)}`;
  const body = operation.body === undefined ? null : bodyOf(treeOf(materials.example(operation.body, random)), random);
  return {
    kind: 'http',
    method: operation.method,
    path,
    headers: [...oddHeaders(random, body !== null), ...wrongCredentials(materials, random)],
    body,
  };
}

/** Signed by the agent of a trader with funds: what is wrong with it is found behind the signature. */
export function signedRequest(materials: Materials, random: Random): HttpInput {
  const operation = random.pick(SIGNED);
  const asked = pathOf(materials, operation, random, 0.15);
  // An account of another trader is refused at once.
  const own = random.chance(0.8) ? asked.replace(/(?<=\/account\/)[^/]*/, materials.trader) : asked;
  const path = `${own}${queryOf(materials, operation.query, random, 0.2)}`;
  const body = operation.body === undefined ? null : bodyOf(treeOf(materials.example(operation.body, random)), random, 0.7);
  const signing: Signing =
    operation.auth === 'reader' && random.chance(0.5) ? { scheme: 'api-key' } : { scheme: 'native', operationId: operation.id };
  return { kind: 'http', method: operation.method, path, headers: jsonHeader(body), body, signing };
}

const jsonHeader = (body: Buffer | null): [string, string][] => (body === null ? [] : [['Content-Type', 'application/json']]);

const MASTER_TYPE = { createAgent: 'AgentAuthorization', revokeAgent: 'AgentRevocation', issueApiKey: 'ApiKeyIssue' } as const;
const LABELS = ['fuzz', 'a', 'é', 'bot 1', 'x'.repeat(64)];
const SCOPE = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' };

/** Messages of a master wallet, unsigned or signed over other values, and some that are right. */
export function masterMessage(materials: Materials, random: Random): HttpInput {
  const operation = random.pick(MASTER);
  const known = Object.hasOwn(MASTER_TYPE, operation.id) ? MASTER_TYPE[operation.id as keyof typeof MASTER_TYPE] : null;
  const path = pathOf(materials, operation, random, 0.1);
  const example = operation.body === undefined ? {} : materials.example(operation.body, random);
  if (known === null || random.chance(0.75)) {
    const body = bodyOf(treeOf(example), random, 0.9);
    return { kind: 'http', method: operation.method, path, headers: oddHeaders(random, true), body };
  }
  const subject = known === 'ApiKeyIssue' ? random.pick(LABELS) : random.pick(materials.agents);
  const own = { trader: '__master__', timestamp: '__timestamp__', signature: '__signature__' };
  const tree =
    known === 'ApiKeyIssue'
      ? treeOf({ ...own, label: subject })
      : known === 'AgentRevocation'
        ? treeOf(own)
        : treeOf({ ...own, agent: subject, scope: SCOPE });
  if (random.chance(0.5)) mutateTree(tree, random);
  const place = known === 'AgentRevocation' ? path.replace(/\/agents\/.*$/, `/agents/${subject}`) : path;
  const signing: Signing = { scheme: 'master', primaryType: known, subject };
  return {
    kind: 'http',
    method: operation.method,
    path: place,
    headers: jsonHeader(Buffer.alloc(0)),
    body: Buffer.from(writeTree(tree)),
    signing,
  };
}

const ORDER = { market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' };

/** An order, and what can be done to it afterwards, each step by its agent. */
export function orderSequence({ slug }: Materials, random: Random): SequenceInput {
  const step = (operationId: string, method: string, path: string, value?: unknown): HttpInput => {
    const body = value === undefined ? null : bodyOf(treeOf(value), random, 0.4);
    return {
      kind: 'http',
      method,
      path: `/v1/${slug}${path}`,
      headers: jsonHeader(body),
      body,
      signing: { scheme: 'native', operationId },
    };
  };
  const place = `/orders/${LAST_ID}`;
  const later = [
    () => step('getOrder', 'GET', place),
    () => step('cancelOrder', 'DELETE', place),
    () => step('updateOrder', 'PATCH', place, { price: '49000', sl: '48000' }),
    () => step('submitOrder', 'POST', `${place}/submit`, { txHash: `0x${'7'.repeat(64)}` }),
    () => step('getOrderTimeline', 'GET', `${place}/timeline`),
    () => step('createOrder', 'POST', '/orders', { ...ORDER, clientId: 'fuzz' }),
  ];
  const first = step('createOrder', 'POST', '/orders', { ...ORDER, ...(random.chance(0.3) ? { clientId: 'fuzz' } : {}) });
  return { kind: 'sequence', steps: [first, ...Array.from({ length: random.int(1, 4) }, () => random.pick(later)())] };
}

const FRAMES: readonly z.ZodType[] = [...Object.values(SUBSCRIPTIONS), ...Object.values(SUBSCRIPTIONS), ByKey, BySignature, Beat];

export function nativeFrame({ example }: Materials, random: Random): FrameInput {
  if (random.chance(0.03)) {
    const payload = Buffer.from('{"op":"auth","apiKey":"__api_key__"}');
    return { kind: 'frame', api: 'v1', payload, isBinary: false, signing: { scheme: 'api-key' } };
  }
  const tree = random.chance(0.02)
    ? objectTree({ op: random.pick(['ping', 'pong', 'subscribe', 'x']) })
    : treeOf(example(random.pick(FRAMES), random));
  return { kind: 'frame', api: 'v1', payload: bodyOf(tree, random, 0.75), isBinary: random.chance(0.02) };
}
