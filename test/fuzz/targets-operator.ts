import { OPERATOR_ROUTES } from '../../relayer/operator/operator-routes.js';
import type { HttpInput } from './input.js';
import { oddHeaders, type Materials } from './materials.js';
import { bodyOf, mutateBytes } from './mutate.js';
import type { Random } from './random.js';
import { pathOf, queryOf } from './targets-native.js';
import { treeOf } from './tree.js';

/** Inputs for the operator's routes, from their table, and for those of the sandbox. */

/** A drill opens a gap in the wallet's nonces and answers only when it has healed; a real one would hold every signed order up. */
const ROUTES = OPERATOR_ROUTES.filter(({ path }) => !path.startsWith('/drills'));

const bearer = (token: string): [string, string] => ['Authorization', `Bearer ${token}`];

/** A mutated value may be a deep list, which must not be turned into a number. */
const isAtMost = (value: unknown, most: number): boolean => value === undefined || (typeof value === 'number' && value <= most);

/**
 * Some bodies would be obeyed and would stop the venue or its relayer, which is what the routes are for and no defect. Each of these gets a
 * field that no schema has, so that everything up to the refusal is still reached.
 */
function harmless(path: string, body: Buffer): Buffer {
  const value = parsed(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return body;
  const fields = value as Record<string, unknown>;
  const isHarmful =
    (path.includes('/sandbox/chain') && (fields['action'] !== 'mine' || !isAtMost(fields['blocks'], 2))) ||
    (path.includes('/sandbox/feed') && fields['paused'] === true) ||
    (path.includes('/sandbox/oracle') && (fields['mode'] !== 'auto' || !isAtMost(fields['delayMs'], 20))) ||
    path.includes('/sandbox/market') ||
    (path.includes('/relayer/switches') && fields['mode'] !== 'running') ||
    (path.includes('/relayer/rotation') && fields['isRetiring'] !== false) ||
    /\/relayer\/rules\/[^/]*\/default/i.test(path);
  const text = body.toString('utf8');
  return isHarmful ? Buffer.from(`${text.slice(0, text.lastIndexOf('}'))},"fuzz":1}`) : body;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

export function operatorCall(materials: Materials, random: Random): HttpInput {
  const route = random.pick(ROUTES);
  const isIn = random.chance(0.7);
  const path = `/relayer${pathOf(materials, route, random, 0.2)}${queryOf(materials, route.query, random, 0.3)}`;
  const body = route.body === undefined ? null : harmless(path, bodyOf(treeOf(materials.example(route.body, random)), random));
  const token = isIn
    ? [bearer(materials.operatorToken)]
    : random.chance(0.5)
      ? [bearer(random.pick(['x', 'é', '', materials.operatorToken.slice(1)]).replace('é', '%e9'))]
      : [];
  const headers = oddHeaders(random, body !== null).filter(([name]) => name !== 'Authorization');
  return {
    kind: 'http',
    method: random.chance(0.03) ? random.pick(['PATCH', 'DELETE', 'OPTIONS', 'HEAD']) : route.method,
    path,
    headers: [...headers, ...token],
    body,
  };
}

export function metricsRead({ operatorToken }: Materials, random: Random): HttpInput {
  const path = random.pick(['/metrics', '/metrics?x=1', '/metrics/', '/METRICS']);
  return { kind: 'http', method: 'GET', path, headers: random.chance(0.5) ? [bearer(operatorToken)] : [], body: null };
}

/** Their schemas belong to the router alone, so examples stand here. */
const SANDBOX_BODIES: readonly (readonly [string, object])[] = [
  ['/sandbox/accounts', { usdc: '100', eth: '1', approve: true, delegate: null }],
  ['/sandbox/faucet', { address: `0x${'1'.repeat(40)}`, usdc: '1', dai: '1', eth: '0.1' }],
  ['/sandbox/price', { market: 'BTC/USD', price: '60000' }],
  ['/sandbox/price', { market: 'btc-usd', price: '61000.5', overMs: 10 }],
  ['/sandbox/price', { market: 'ETH/USD', walk: true }],
  ['/sandbox/oracle', { mode: 'auto', delayMs: 10, market: 'BTC/USD' }],
  ['/sandbox/market', { market: 'EUR/USD', isOpen: true }],
  ['/sandbox/feed', { paused: false }],
  ['/sandbox/reset', {}],
  ['/sandbox/chain', { action: 'mine', blocks: 1 }],
  ['/sandbox/chain', { action: 'reorg', depth: 1, drop: false }],
  ['/sandbox/chain', { action: 'rpc', mode: 'ok', latencyMs: 5, errorShare: 0.5 }],
  ['/sandbox/chain', { action: 'gas', baseFeeGwei: 0.1 }],
  ['/sandbox/chain', { action: 'warp', seconds: 1 }],
  ['/sandbox/rpc', { method: 'eth_getBalance', params: [`0x${'1'.repeat(40)}`, 'latest'] }],
];

export function sandboxCall(_materials: Materials, random: Random): HttpInput {
  if (random.chance(0.1))
    return {
      kind: 'http',
      method: 'GET',
      path: random.pick(['/sandbox', '/sandbox/', '/sandbox/x', '/sandbox?x']),
      headers: [],
      body: null,
    };
  const [path, example] = random.pick(SANDBOX_BODIES);
  // An account or a gift takes transactions, so most of these are broken first.
  const isDear = path === '/sandbox/accounts' || path === '/sandbox/faucet';
  const bytes = bodyOf(treeOf(example), random, isDear ? 0.995 : 0.9);
  const body = harmless(path, isDear && random.chance(0.5) ? mutateBytes(bytes, random) : bytes);
  return { kind: 'http', method: 'POST', path, headers: oddHeaders(random, true), body };
}
