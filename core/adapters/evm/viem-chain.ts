import { BaseError, createPublicClient, decodeFunctionResult, encodeFunctionData, RpcRequestError, type PublicClient } from 'viem';
import type { ChainDefinition } from '../../chains/chains.js';
import { ForeignChainError, type Chain, type ChainCollateral, type ChainFacts } from '../../ports/chain.js';
import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { Tracer } from '../../observability/tracing.js';
import { accountFacts, chainTrades, delegateOf, openOrders, openTrades, referrerOf, wallet, wholeAccount } from './account.js';
import { createEndpoints, troubleOf } from './endpoints.js';
import { createRelayNode } from './relay-node.js';
import { createSentHistory } from './sent-history.js';
import { fitsGroupOi, fundsOf, openingTerms, pairOpenInterest, replay, simulate, updateFees } from './simulate.js';
import { outcomeOf, readBlocks, readHead, readInputs, readLogs, readRaw, readReceipts, seenTransaction } from './logs.js';
import { contractFigures } from './diamond-checks.js';
import { createRpcTransport } from './transport.js';
import { createTry } from './try-together.js';
import { createWalletCall, isValidSignature } from './wallet-call.js';
import type { Address, Hex, BlockHead, Cancel } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';
import { USED_SELECTORS } from '../../chains/diamond-functions.js';
import { WebSocket } from 'ws';
import { z } from 'zod';

export interface ViemChainOptions {
  readonly definition: ChainDefinition;
  readonly rpcUrls: readonly string[];
  readonly nodePatienceMs?: number | undefined;
  /** Nodes to subscribe to; absent = none. */
  readonly wsUrls?: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Null or absent: calls are not traced. */
  readonly tracer?: Tracer | null;
}

/** The Chain port over JSON-RPC. Calls of one turn of the event loop are batched; those of one multi-step read go to one node. */
export function createViemChain({ definition, rpcUrls, nodePatienceMs, wsUrls = [], clock, log, tracer = null }: ViemChainOptions): Chain {
  const { chainId, slug, expectedBlockMs } = definition;
  const endpoints = createEndpoints({ urls: rpcUrls, expectedBlockMs, now: () => clock.now(), log });
  const { transport, ask } = createRpcTransport({ endpoints, chainId, slug, clock, tracer, patienceMs: nodePatienceMs });
  const client = createPublicClient({ transport, cacheTime: 0 });
  const views = createViews(client, definition);
  const walletCall = createWalletCall(endpoints, chainId, clock);
  const tryCall = createTry(client, definition.diamond, clock);
  return {
    relay: createRelayNode(client),
    sent: createSentHistory({ client, endpoints, chainId, clock }),
    endpoints: () => endpoints.health(),
    traffic: () => endpoints.all.map(({ host, traffic, calls }) => ({ host, ...traffic, methods: calls.methods() })),
    views: (calls, block) => ask(() => views(calls, block)),
    figures: (since) => ask(() => contractFigures(client, definition.diamond, since)),
    identify: (referrers) => ask(() => identify(client, definition, referrers)),
    delegateOf: (trader) => delegateOf(client, definition, trader),
    hasCode: async (address) => (await client.getCode({ address })) !== undefined,
    isValidSignature: (wallet, digest, signature) => isValidSignature(walletCall, wallet, digest, signature),
    logs: (from, to) => ask(() => readLogs(client, definition, from, to)),
    receipts: (places) => ask(() => readReceipts(client, definition, places)),
    read: readRaw,
    replay: (transaction, block) => replay(client, transaction, block),
    inputs: (hashes) => readInputs(client, hashes),
    trades: (refs, block) => ask(() => chainTrades(client, definition, refs, block)),
    openOrders: (trader, block) => ask(() => openOrders(client, definition, trader, block)),
    openTrades: (query) => ask(() => openTrades(client, definition, query)),
    wallet: (query) => ask(() => wallet(client, definition, query)),
    wholeAccount: (query) => ask(() => wholeAccount(client, definition, query)),
    nativeBalance: (address) => client.getBalance({ address }),
    accountFacts: (trader, tokens) => ask(() => accountFacts(client, definition, trader, tokens)),
    referrerOf: (trader) => ask(() => referrerOf(client, definition, trader)),
    blocks: (numbers) => readBlocks(client, numbers),
    funds: (trader, token) => ask(() => fundsOf(client, token, trader, definition.diamond)),
    simulate: (simulation) => ask(() => simulate({ client, diamond: definition.diamond, tryCall }, simulation)),
    openingTerms: (trader, pairIndex) => ask(() => openingTerms(client, definition.diamond, trader, pairIndex)),
    fitsGroupOi: (opening) => ask(() => fitsGroupOi(client, definition.diamond, opening)),
    pairOpenInterest: (pair) => ask(() => pairOpenInterest(client, definition.diamond, pair)),
    updateFees: (trader, pair) => ask(() => updateFees(client, definition.diamond, trader, pair)),
    transaction: (hash) => seenTransaction(client, hash),
    outcome: (hash) => outcomeOf(client, hash),
    heads(listener) {
      const subscriptions = wsUrls.map((url) => subscribeToHeads({ url, chainId, clock, log }, listener));
      return () => subscriptions.forEach((cancel) => cancel());
    },
    head: () => readHead(client),
  };
}

interface View {
  readonly to: Address;
  readonly data: Hex;
}

/** Limit of the Diamond's multicall. */
const PACK = 20;

/** Batches reads of the Diamond in its `multicall`; without one, and for other contracts, they are single calls in JSON-RPC batches. */
function createViews(client: PublicClient, { diamond }: ChainDefinition): Chain['views'] {
  let canPack = true;

  const one = async ({ to, data }: View, blockNumber: bigint): Promise<Hex> => {
    const { data: answer } = await client.call({ to, data, blockNumber });
    return answer ?? '0x';
  };

  const packed = async (calls: readonly View[], blockNumber: bigint): Promise<readonly Hex[]> => {
    const data = encodeFunctionData({ abi: diamondAbi, functionName: 'multicall', args: [calls.map((call) => call.data)] });
    return decodeFunctionResult({ abi: diamondAbi, functionName: 'multicall', data: await one({ to: diamond, data }, blockNumber) });
  };

  const pack = async (calls: readonly View[], blockNumber: bigint): Promise<readonly Hex[]> => {
    const singly = (): Promise<readonly Hex[]> => Promise.all(calls.map((call) => one(call, blockNumber)));
    if (!canPack || calls.length === 1) return singly();
    try {
      return await packed(calls, blockNumber);
    } catch (error) {
      if (!isRevert(error)) throw error;
      const answers = await singly();
      canPack = false;
      return answers;
    }
  };

  return async (calls, block) => {
    const isOwn = ({ to }: View): boolean => to.toLowerCase() === diamond.toLowerCase();
    const own = calls.filter(isOwn);
    const packs = Array.from({ length: Math.ceil(own.length / PACK) }, (_, at) => own.slice(at * PACK, (at + 1) * PACK));
    const answers = (await Promise.all(packs.map((calls) => pack(calls, block)))).flat();
    const others = await Promise.all(calls.map(async (call) => (isOwn(call) ? null : one(call, block))));
    let next = 0;
    return others.map((other) => other ?? answers[next++] ?? '0x');
  };
}

/** The node answered, and the contract reverted. */
const isRevert = (error: unknown): boolean =>
  error instanceof BaseError &&
  error.walk((cause) => cause instanceof RpcRequestError) !== null &&
  !/timeout|limit|rate/i.test(error.message);

/** Reads the chain id, the Diamond's functions and its collaterals in one batch. */
async function identify(
  client: PublicClient,
  { chainId, diamond, slug }: ChainDefinition,
  referrers: readonly Address[] = [],
): Promise<ChainFacts> {
  const selectors = [...USED_SELECTORS];
  // Before everything else: what is read afterwards is of this block or a later one.
  const block = await client.getBlockNumber({ cacheTime: 0 });
  const [listed, found, code, collaterals, ...facets] = await Promise.all([
    Promise.all(referrers.map((referrer) => isListed(client, diamond, referrer))),
    client.getChainId(),
    client.getCode({ address: diamond }),
    answerOf(client, diamond, encodeFunctionData({ abi: diamondAbi, functionName: 'getCollaterals' })),
    ...selectors.map(([, selector]) =>
      answerOf(client, diamond, encodeFunctionData({ abi: diamondAbi, functionName: 'facetAddress', args: [selector] })),
    ),
  ]);
  if (found !== chainId) throw new ForeignChainError(`the node serves chain id ${found}, but ${slug} is ${chainId}`);
  if (code === undefined) throw new ForeignChainError(`there is no contract at the Diamond's address ${diamond}`);
  // A single malformed answer means that the Diamond has no loupe, so none of the answers is valid.
  const hasLoupe = facets.every((answer) => answer !== null && WORD.test(answer));
  return {
    chainId,
    block,
    missing: hasLoupe ? selectors.flatMap(([name], at) => (BigInt(facets[at] ?? 0) === 0n ? [name] : [])) : null,
    collaterals: collaterals === null ? null : readCollaterals(collaterals),
    ...(referrers.length > 0 && {
      unlisted: referrers.filter((_, at) => listed[at] === false),
      unchecked: referrers.filter((_, at) => listed[at] === null),
    }),
  };
}

/** Whether the protocol has whitelisted the address as a referrer; null where the Diamond does not expose it. */
async function isListed(client: PublicClient, diamond: Address, referrer: Address): Promise<boolean | null> {
  const asked = { abi: diamondAbi, functionName: 'getReferrerDetails' } as const;
  const data = await answerOf(client, diamond, encodeFunctionData({ ...asked, args: [referrer] }));
  if (data === null) return null;
  try {
    return decodeFunctionResult({ ...asked, data }).active;
  } catch {
    return null;
  }
}

const WORD = /^0x0{24}[0-9a-f]{40}$/i;

/** Null where the contract reverts; throws where the node fails. */
async function answerOf(client: PublicClient, to: Address, data: Hex): Promise<Hex | null> {
  try {
    return (await client.call({ to, data })).data ?? '0x';
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  const answered = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
  return answered instanceof RpcRequestError && troubleOf('eth_call', { code: answered.code, message: answered.details }) === 'question';
}

function readCollaterals(data: Hex): readonly ChainCollateral[] | null {
  try {
    const rows = decodeFunctionResult({ abi: diamondAbi, functionName: 'getCollaterals', data });
    return rows.map(({ collateral, isActive, precision }) => ({
      address: collateral,
      isActive,
      decimals: precision.toString().length - 1,
    }));
  } catch {
    return null;
  }
}

export interface HeadSubscriptionOptions {
  readonly url: string;
  readonly chainId: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const REDIAL_MS = 2_000;
const MAX_PAYLOAD = 256 * 1024;

/** JSON-RPC ids of the two requests. */
const CHAIN_ID = 1;
const SUBSCRIBE = 2;

const hex = z.string().regex(/^0x[0-9a-fA-F]+$/);
const Head = z.object({ number: hex, hash: hex, parentHash: hex, timestamp: hex });
const Frame = z.union([
  z.object({ method: z.literal('eth_subscription'), params: z.object({ result: Head }) }),
  z.object({ id: z.literal(CHAIN_ID), result: hex }),
]);

/**
 * Subscribes to new blocks of a node, to learn of them sooner than by polling. Callers must keep polling: a connection that is down, silent
 * or of another chain only loses this advantage.
 */
export function subscribeToHeads({ url, chainId, clock, log }: HeadSubscriptionOptions, publish: (block: BlockHead) => void): Cancel {
  let stopped = false;
  let socket: WebSocket | null = null;
  let cancelRedial: Cancel = () => undefined;

  const dial = (): void => {
    if (stopped) return;
    const connection = new WebSocket(url, { maxPayload: MAX_PAYLOAD, followRedirects: false });
    let isProven = false;
    socket = connection;
    const ask = (id: number, method: string, params: readonly string[]): void =>
      connection.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    connection.on('open', () => ask(CHAIN_ID, 'eth_chainId', []));
    connection.on('message', (data: Buffer) => {
      const frame = readFrame(data);
      if (frame === null) return;
      if ('method' in frame) return isProven ? publish(headOf(frame.params.result)) : undefined;
      isProven = Number(frame.result) === chainId;
      if (isProven) return ask(SUBSCRIBE, 'eth_subscribe', ['newHeads']);
      log.warn('chain.head-line-of-another-chain', { chainId: Number(frame.result) });
      connection.close();
    });
    connection.on('error', () => connection.terminate());
    connection.on('close', () => {
      cancelRedial = stopped ? cancelRedial : clock.after(REDIAL_MS, dial);
    });
  };
  dial();
  return () => {
    stopped = true;
    cancelRedial();
    socket?.terminate();
  };
}

function readFrame(data: Buffer): z.output<typeof Frame> | null {
  try {
    return Frame.safeParse(JSON.parse(data.toString('utf8'))).data ?? null;
  } catch {
    return null;
  }
}

const headOf = ({ number, hash, parentHash, timestamp }: z.output<typeof Head>): BlockHead => ({
  number: BigInt(number),
  hash: hash as Hex,
  parentHash: parentHash as Hex,
  timestamp: BigInt(timestamp),
});
