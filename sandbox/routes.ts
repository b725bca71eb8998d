import express, { type RequestHandler, type Router } from 'express';
import { z } from 'zod';
import { CANCEL_REASONS } from '../core/domain/order.js';
import { GatewayError } from '../core/errors.js';
import { refuseForeignPage } from '../http/foreign-page.js';
import { AddressString } from '../native-api/wire/codec.js';
import { readStrictJson } from '../http/strict-json.js';
import { DEMO_ROLES } from './accounts.js';
import { RpcFailure } from './chain/chain-node.js';
import type { ChainControls, SandboxControls } from './controls.js';
import { SANDBOX_MARKETS } from './markets.js';
import { ORACLE_MODES } from './oracle/oracle.js';

const Amount = z.string().regex(/^(?:0|[1-9]\d{0,14})(?:\.\d{1,18})?$/, 'must be a positive decimal string');
const Price = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,6})(?:\.\d{1,10})?$/, 'must be a decimal string with at most 7 digits before and 10 after the point')
  .refine((text) => Number(text) > 0, 'must be above 0');
const Duration = z.int().min(1).max(3_600_000);

/** `BTC/USD`, `btc-usd`: the same market. */
const MarketIndex = z.string().transform((text, context) => {
  const wanted = text.toUpperCase().replace('-', '/');
  const index = SANDBOX_MARKETS.findIndex((market) => market !== null && `${market.from}/${market.to}` === wanted);
  if (index === -1) context.addIssue({ code: 'custom', message: 'is no market of the sandbox' });
  return index;
});

const Chain = z.string().optional();

const AccountsBody = z.strictObject({
  chain: Chain,
  usdc: Amount.default('10000'),
  eth: Amount.default('1'),
  approve: z.boolean().default(true),
  delegate: AddressString.nullable().default(null),
});
const FaucetBody = z.strictObject({
  chain: Chain,
  address: AddressString,
  usdc: Amount.optional(),
  dai: Amount.optional(),
  eth: Amount.optional(),
});
const PriceBody = z
  .strictObject({ market: MarketIndex, price: Price.optional(), overMs: Duration.optional(), walk: z.literal(true).optional() })
  .refine(({ price, walk }) => (price === undefined) !== (walk === undefined), {
    path: ['price'],
    message: 'is needed, or walk: true instead',
  })
  .refine(({ overMs, walk }) => overMs === undefined || walk === undefined, { path: ['overMs'], message: 'does not go with walk' });
const OracleBody = z.strictObject({
  mode: z.enum(ORACLE_MODES),
  reason: z.enum(CANCEL_REASONS).exclude(['NONE']).optional(),
  delayMs: z.int().min(0).max(3_600_000).optional(),
  market: MarketIndex.optional(),
});
const MarketBody = z.strictObject({ market: MarketIndex, isOpen: z.boolean() });
const FeedBody = z.strictObject({ paused: z.boolean() });
const ChainBody = z.discriminatedUnion('action', [
  z.strictObject({ chain: Chain, action: z.literal('mine'), blocks: z.int().min(1).max(10_000).default(1) }),
  z.strictObject({ chain: Chain, action: z.literal('reorg'), depth: z.int().min(1).max(64), drop: z.boolean().default(false) }),
  z.strictObject({ chain: Chain, action: z.literal('mining'), paused: z.boolean() }),
  z.strictObject({
    chain: Chain,
    action: z.literal('rpc'),
    mode: z.enum(['ok', 'down', 'slow', 'flaky']),
    latencyMs: z.int().min(1).max(60_000).default(500),
    errorShare: z.number().min(0).max(1).default(0.5),
  }),
  z.strictObject({ chain: Chain, action: z.literal('gas'), baseFeeGwei: z.number().min(0).max(100_000) }),
  z.strictObject({ chain: Chain, action: z.literal('warp'), seconds: z.int().min(1).max(31_536_000) }),
]);
/** What wallets ask a node for. */
const RPC_METHODS = [
  ...(['eth_blockNumber', 'eth_call', 'eth_chainId', 'eth_estimateGas', 'eth_feeHistory', 'eth_gasPrice', 'eth_getBalance'] as const),
  ...(['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_getCode', 'eth_getTransactionByHash', 'eth_getTransactionCount'] as const),
  ...(['eth_getTransactionReceipt', 'eth_maxPriorityFeePerGas', 'eth_sendRawTransaction'] as const),
];
const RpcBody = z.strictObject({
  chain: Chain,
  method: z.enum(RPC_METHODS),
  params: z.array(z.unknown()).max(8).default([]),
});

const ResetBody = z.strictObject({});

/** The request schemas of the sandbox's routes. */
export const SANDBOX_BODIES = {
  AccountsBody,
  FaucetBody,
  PriceBody,
  OracleBody,
  MarketBody,
  FeedBody,
  ChainBody,
  RpcBody,
  ResetBody,
} as const;

/** Exists in the sandbox only, and answers only local callers: the reply contains private keys. */
export function sandboxRouter(controls: SandboxControls, operatorToken: string | null): Router {
  const router = express.Router();
  router.use('/sandbox', loopbackOnly, localPagesOnly);
  router.get('/sandbox', (_request, response) => void response.json({ ...describe(controls), operatorToken }));
  router.post(
    '/sandbox/accounts',
    answer(AccountsBody, ({ chain, ...equipment }) => chainOf(controls, chain).faucet.createTrader(equipment)),
  );
  router.post(
    '/sandbox/faucet',
    answer(FaucetBody, async ({ chain, address, ...amounts }) => ({
      txHashes: await chainOf(controls, chain).faucet.fund(address, amounts),
    })),
  );
  router.post(
    '/sandbox/price',
    answer(PriceBody, (body) => movePrice(controls, body)),
  );
  router.post(
    '/sandbox/oracle',
    answer(OracleBody, (body) => instructOracle(controls, body)),
  );
  router.post(
    '/sandbox/market',
    answer(MarketBody, ({ market, isOpen }) => ok(() => controls.prices.setOpen(market, isOpen))),
  );
  router.post(
    '/sandbox/feed',
    answer(FeedBody, ({ paused }) => ok(() => controls.prices.pauseFeed(paused))),
  );
  router.post(
    '/sandbox/chain',
    answer(ChainBody, (body) => instructChain(chainOf(controls, body.chain), body)),
  );
  // The pages may connect to their own origin only, and the node has a port of its own.
  router.post(
    '/sandbox/rpc',
    answer(RpcBody, async ({ chain, method, params }) => ({ result: (await chainOf(controls, chain).request(method, params)) ?? null })),
  );
  router.post(
    '/sandbox/reset',
    answer(ResetBody, () => ok(() => resetAll(controls))),
  );
  return router;
}

const OK = { success: true } as const;

/** Runs a command and returns the OK reply. */
async function ok(command: () => unknown): Promise<typeof OK> {
  await command();
  return OK;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/** A proxy on this machine brings callers from everywhere; it says so, and a caller who is here needs none. */
const PROXIED = ['x-forwarded-for', 'forwarded'] as const;

const loopbackOnly: RequestHandler = (request, _response, next) => {
  const isProxied = PROXIED.some((name) => request.headers[name] !== undefined);
  if (isProxied || !LOOPBACK.has(request.socket.remoteAddress ?? ''))
    throw new GatewayError('UNSUPPORTED', { reason: 'The sandbox is controlled from its own machine only.' });
  next();
};

/** `GET /sandbox` returns private keys and the operator's token, and no route here requires a credential. */
const localPagesOnly: RequestHandler = (request, _response, next) => {
  refuseForeignPage(request, { needsLocalHost: true });
  next();
};

function answer<Body extends z.ZodType>(body: Body, act: (input: z.output<Body>) => unknown): RequestHandler {
  return async (request, response) => {
    const input = parse(body, request.body);
    try {
      response.json(await act(input));
    } catch (error) {
      // Controls refuse with a RangeError and a sentence, the node with its own error.
      const isRefusal = error instanceof RangeError || error instanceof RpcFailure;
      throw isRefusal ? new GatewayError('UNSUPPORTED', { reason: error.message }, { cause: error }) : error;
    }
  };
}

function parse<Body extends z.ZodType>(body: Body, raw: unknown): z.output<Body> {
  const parsed = body.safeParse(jsonOf(raw));
  if (parsed.success) return parsed.data;
  throw new GatewayError('VALIDATION_ERROR', {
    issues: parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  });
}

const jsonOf = (raw: unknown): unknown => (Buffer.isBuffer(raw) && raw.length > 0 ? readStrictJson(raw) : {});

function chainOf({ chains }: SandboxControls, slug: string | undefined): ChainControls {
  const chain = slug === undefined ? chains[0] : chains.find(({ definition }) => definition.slug === slug);
  if (!chain) throw new GatewayError('CHAIN_NOT_FOUND', { chain: slug ?? '', available: chains.map(({ definition }) => definition.slug) });
  return chain;
}

const describe = ({ seed, accounts, chains, relayer, backendOf }: SandboxControls): object => ({
  chains: chains.map(({ definition, rpcUrl, collaterals }) => ({
    chain: definition.slug,
    chainId: definition.chainId,
    rpcUrl,
    ...backendOf(definition.slug),
    diamond: definition.diamond,
    relayer,
    collaterals,
  })),
  accounts: DEMO_ROLES.map((role) => ({ role, address: accounts[role].address, privateKey: accounts[role].privateKey })),
  seed,
});

function movePrice({ prices }: SandboxControls, { market, price, overMs }: z.output<typeof PriceBody>): Promise<typeof OK> {
  if (price === undefined) return ok(() => prices.walk(market));
  return ok(() => (overMs === undefined ? prices.jump(market, price) : prices.glide(market, price, overMs)));
}

function instructOracle({ chains }: SandboxControls, { mode, reason, delayMs, market }: z.output<typeof OracleBody>): typeof OK {
  const policy = {
    mode,
    ...(reason === undefined ? {} : { reason: CANCEL_REASONS.indexOf(reason) }),
    ...(delayMs === undefined ? {} : { delayMs }),
  };
  for (const chain of chains) chain.setOraclePolicy(market ?? null, policy);
  return OK;
}

/** What the engine begins with. */
const USUAL_BASE_FEE_GWEI = 0.1;

/** Ends every disturbance. Prices walk on from where they are: a jump back would be another disturbance. */
async function resetAll({ prices, chains }: SandboxControls): Promise<void> {
  prices.pauseFeed(false);
  for (const [pairIndex, market] of SANDBOX_MARKETS.entries())
    if (market !== null) {
      prices.walk(pairIndex);
      prices.setOpen(pairIndex, null);
    }
  for (const chain of chains) {
    chain.setRpcFault({ mode: 'ok' });
    chain.resetOracle();
    await chain.setBaseFee(USUAL_BASE_FEE_GWEI);
    await chain.pauseMining(false);
  }
}

function instructChain(chain: ChainControls, body: z.output<typeof ChainBody>): Promise<typeof OK> {
  switch (body.action) {
    case 'mine':
      return ok(() => chain.mine(body.blocks));
    case 'reorg':
      return ok(() => chain.reorg(body.depth, body.drop));
    case 'mining':
      return ok(() => chain.pauseMining(body.paused));
    case 'rpc':
      return ok(() => chain.setRpcFault(body));
    case 'gas':
      return ok(() => chain.setBaseFee(body.baseFeeGwei));
    case 'warp':
      return ok(() => chain.warp(body.seconds));
  }
}
