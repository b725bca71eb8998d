import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express, { type Request, type RequestHandler, type Router } from 'express';
import { z } from 'zod';
import { ALERT_ROUTES, STATUS_ROUTES } from './status-routes.js';
import { ADOPTION_ROUTES } from './adoption-routes.js';
import { CONTRACT_ROUTES } from './contract-routes.js';
import { COST_ROUTES, HISTORY_ROUTES } from './cost-routes.js';
import type { OperatorRoute } from './operator-route.js';
import { QUOTA_ROUTES, RULES_ROUTES } from './rules-routes.js';
import { DRILL_ROUTES, ROTATION_ROUTES, SWITCH_ROUTES } from './switch-routes.js';
import { GatewayError, type Issue } from '../../core/errors.js';
import type { AlertSettings, OperatorSettings } from '../../core/config/operator.js';
import type { Gateway } from '../../core/gateway.js';
import { refuseForeignPage } from '../../http/foreign-page.js';

/** All operator routes: one file and one line per family. */
export const OPERATOR_ROUTES: readonly OperatorRoute[] = [
  ...STATUS_ROUTES,
  ...HISTORY_ROUTES,
  ...COST_ROUTES,
  ...ALERT_ROUTES,
  ...RULES_ROUTES,
  ...QUOTA_ROUTES,
  ...SWITCH_ROUTES,
  ...DRILL_ROUTES,
  ...ROTATION_ROUTES,
  ...CONTRACT_ROUTES,
  ...ADOPTION_ROUTES,
];

interface OperatorAccessOptions {
  readonly gateway: Gateway;
  /** Null: the operator routes do not exist, and replies do not reveal them. */
  readonly token: (() => string) | null;
  readonly alerting: AlertSettings;
  readonly routes: readonly OperatorRoute[];
  /** Strict JSON parsing; throws VALIDATION_ERROR. */
  readonly readJson: (bytes: Uint8Array) => unknown;
}

const VERB = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;
const JSON_TYPE = 'application/json; charset=utf-8';

/** The operator routes under `/relayer/…`. The host before them reads bodies, counts addresses and answers errors. No key is in reach. */
export function operatorRouter({ gateway, alerting, token, routes, readJson }: OperatorAccessOptions): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  if (token === null) return router;
  router.use('/relayer', refuseForeignPages, operatorGuard(token()));
  for (const route of routes) router[VERB[route.method]](`/relayer${route.path}`, serve({ gateway, alerting, readJson }, route));
  for (const [path, methods] of methodsByPath(routes)) router.all(path, refuseMethod(methods));
  return router;
}

type Served = Pick<OperatorAccessOptions, 'gateway' | 'alerting' | 'readJson'>;

function serve({ gateway, alerting, readJson }: Served, route: OperatorRoute): RequestHandler {
  return async (request, response) => {
    const reply = await route.handle({ gateway, alerting, ...decodeCall(route, request, readJson) });
    const bytes = Buffer.from(JSON.stringify(reply, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)));
    response.statusCode = 200;
    response.setHeader('Content-Type', JSON_TYPE);
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  };
}

/** A route without a query schema accepts none: a misspelt parameter must not be dropped silently. */
const NO_QUERY = z.strictObject({});
const NO_BYTES = Buffer.alloc(0);
const MAX_ISSUES = 50;

/** One reply reports every fault of every part. */
function decodeCall(route: OperatorRoute, request: Request, readJson: OperatorAccessOptions['readJson']) {
  const issues: Issue[] = [];
  const params = decode(route.params, request.params, issues);
  const query = decode(route.query ?? NO_QUERY, request.query, issues);
  const bytes = Buffer.isBuffer(request.body) ? request.body : NO_BYTES;
  if (route.body === undefined && bytes.length > 0) issues.push({ path: '', message: 'must be empty: this operation takes no body' });
  const body = decode(route.body, route.body === undefined || bytes.length === 0 ? undefined : readJson(bytes), issues);
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues: issues.slice(0, MAX_ISSUES) });
  return { params, query, body };
}

function decode(schema: z.ZodType | undefined, value: unknown, issues: Issue[]): unknown {
  if (schema === undefined) return undefined;
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  issues.push(...decoded.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.').slice(0, 64), message })));
  return undefined;
}

function methodsByPath(routes: readonly OperatorRoute[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const { method, path } of routes)
    methods.set(`/relayer${path}`, [...(methods.get(`/relayer${path}`) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  return methods;
}

const refuseMethod =
  (methods: readonly string[]): RequestHandler =>
  (request, response) => {
    response.setHeader('Allow', methods.join(', '));
    throw new GatewayError('UNSUPPORTED', { reason: `${request.method} is not offered here; allowed: ${methods.join(', ')}.` });
  };

const BEARER = /^bearer +(\S+) *$/i;
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Refuses requests of foreign web pages. Operators use host names of their own, so any `Host` passes: a page rebound to this address
 * by DNS has no token.
 */
const refuseForeignPages: RequestHandler = (request, _response, next) => {
  refuseForeignPage(request, { needsLocalHost: false });
  next();
};

type HasToken = (request: Pick<IncomingMessage, 'headers'>) => boolean;

/** Digests are compared in constant time, as they have equal length. */
function createTokenCheck(token: string): HasToken {
  const expected = digest(token);
  return ({ headers }) => {
    const [, given = ''] = BEARER.exec(headers.authorization ?? '') ?? [];
    return timingSafeEqual(digest(given), expected);
  };
}

const OPERATOR_PATH = /^\/(relayer|metrics)(?:[/?]|$)/;

/**
 * Whether a request has the right token of the operator for its path. Such a request is not counted: guesses from the same address, also
 * behind one proxy, must not lock the operator out.
 */
export function createOperatorCheck({
  token,
  metricsToken,
}: Pick<OperatorSettings, 'token' | 'metricsToken'>): (request: IncomingMessage) => boolean {
  const checks: ReadonlyMap<string, HasToken> = new Map(
    [['relayer', token] as const, ['metrics', metricsToken ?? token] as const].flatMap(([area, own]) =>
      own === null ? [] : [[area, createTokenCheck(own())] as const],
    ),
  );
  return (request) => {
    const [, area = ''] = OPERATOR_PATH.exec(request.url ?? '') ?? [];
    return checks.get(area)?.(request) ?? false;
  };
}

/** Requires the operator's token. */
function operatorGuard(token: string): RequestHandler {
  const hasToken = createTokenCheck(token);
  return (request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    if (hasToken(request)) return next();
    response.setHeader('WWW-Authenticate', 'Bearer');
    throw new GatewayError('UNAUTHENTICATED', { scheme: 'Bearer' });
  };
}

interface MetricsAccessOptions {
  readonly settings: Pick<OperatorSettings, 'token' | 'metricsToken' | 'areMetricsPublic'>;
  readonly render: () => Promise<{ readonly type: string; readonly bytes: Buffer }>;
}

/** `GET /metrics`: requires the metrics token, or the operator's token if there is none, unless metrics are public. */
export function metricsRouter({ settings, render }: MetricsAccessOptions): Router {
  const { areMetricsPublic } = settings;
  const token = settings.metricsToken ?? settings.token;
  const router = express.Router({ strict: true, caseSensitive: true });
  if (token === null && !areMetricsPublic) return router;
  if (token !== null && !areMetricsPublic) router.use('/metrics', refuseForeignPages, operatorGuard(token()));
  router.get('/metrics', async (_request, response) => {
    const { type, bytes } = await render();
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Content-Type', type);
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  });
  return router;
}
