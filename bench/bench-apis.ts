import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Router } from 'express';
import { keccak256, recoverTypedDataAddress } from 'viem';
import { z } from 'zod';
import { REQUEST_FIELDS, signingDomain } from '../core/access/signature.js';
import { venueOf, type Gateway } from '../core/gateway.js';
import type { Address, Hex } from '../core/types.js';
import { createHost } from '../native-api/app.js';
import { createClientReader } from '../http/request.js';
import { createResponseCache } from '../core/caching/response-cache.js';
import { venueOperation, type Operation } from '../native-api/operation.js';

/** An answer of ordinary size, the same for every way to ask. */
const ANSWER = {
  address: '0x00000000000000000000000000000000000000aa',
  balances: Array.from({ length: 4 }, (_, index) => ({ collateral: `TOKEN${index}`, balance: '1234567.891', allowance: '0' })),
  note: 'x'.repeat(200),
};
const Answer = z.object({
  address: z.string(),
  balances: z.array(z.object({ collateral: z.string(), balance: z.string(), allowance: z.string() })),
  note: z.string(),
});

const row = (id: string, path: string, auth: 'none' | 'reader'): Operation =>
  venueOperation({ id, method: 'GET', path, auth, summary: 'For the benchmark.', reply: Answer, handle: () => ANSWER });

export const SIGNED_OPERATION = 'benchSigned';
export const PATHS = {
  plain: '/v1/arbitrum-sepolia/bench/plain',
  signed: '/v1/arbitrum-sepolia/bench/signed',
  viem: '/v1/arbitrum-sepolia/bench/viem',
} as const;

/** The host of the gateway with three more routes: open, signed, and signed but verified the way most services do it. */
export function benchHost(gateway: Gateway): RequestListener {
  const operations = [row('benchPlain', '/bench/plain', 'none'), row(SIGNED_OPERATION, '/bench/signed', 'reader')];
  const clientOf = createClientReader(gateway);
  return createHost({ gateway, operations, extraRoutes: [viemRouter(gateway)], clientOf, responses: createResponseCache(gateway) });
}

/** The same checks and the same books; only the digest and the curve are viem's. */
function viemRouter(gateway: Gateway): Router {
  const router = express.Router();
  const { definition } = venueOf(gateway, 'arbitrum-sepolia');
  const types = { [SIGNED_OPERATION]: REQUEST_FIELDS };
  router.get(PATHS.viem, async (request, response) => {
    const header = (name: string): string => request.get(`X-Service-${name}`) ?? '';
    const [agent, timestamp, nonce] = [header('Agent').toLowerCase() as Address, Number(header('Timestamp')), header('Nonce')];
    const message = {
      method: 'GET',
      path: request.originalUrl,
      bodyHash: keccak256('0x'),
      timestamp: BigInt(timestamp),
      nonce: BigInt(nonce),
    };
    const known = await gateway.access.agents.find({ chain: definition.slug, agent });
    const signer = await recoverTypedDataAddress({
      domain: signingDomain(gateway, definition),
      types,
      primaryType: SIGNED_OPERATION,
      message,
      signature: header('Signature') as Hex,
    });
    if (known === null || signer.toLowerCase() !== agent) return void response.status(401).end();
    await gateway.access.admission.admit({
      chain: definition.slug,
      credential: agent,
      nonce,
      keepUntil: timestamp + 60_000,
      isWrite: false,
    });
    response.type('json').send(JSON.stringify(Answer.encode(ANSWER)));
  });
  return router;
}

/** The answer of the three routes as bytes. */
export const answerBytes = (): Buffer => Buffer.from(JSON.stringify(Answer.encode(ANSWER)));

/** What nothing on this runtime gets below: the same bytes for every request. */
export const bareHttp =
  (bytes: Buffer): RequestListener =>
  (_request, response) =>
    void response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': bytes.length }).end(bytes);

/** What nothing in this language and this framework gets below: a route that answers bytes it already has. */
export function bareExpress(answers: ReadonlyMap<string, Buffer>, method: 'get' | 'post' = 'get'): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  for (const [path, bytes] of answers)
    app[method](path, (_request, response) => void response.set('Content-Type', 'application/json; charset=utf-8').send(bytes));
  return app;
}

export async function serve(listener: RequestListener): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}
