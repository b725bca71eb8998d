import { isAddress } from 'viem/utils';
import { OPERATIONS, type ChainInfo, type Hex, type OperationId, type Operations } from './api.js';
import type { Api } from './methods.js';
import { agentFromKey, type Signer } from './agent.js';
import { createChainReader, type ChainReader } from './chain-reader.js';
import { CHAINS, type ChainFacts, type ChainSlug } from './chains.js';
import { ClientError, requireSame, VerificationError } from './errors.js';
import { createCaller, type CallOptions, type Fetch } from './http.js';
import type { SocketConstructor } from './line.js';
import { httpRpc, type Rpc } from './rpc.js';
import { createSender, type FeeLimits, type Sender } from './send-transaction.js';
import { newNonce, signatureHeaders, signRequest, type SigningDomain } from './sign-request.js';
import type { Limits } from './verify-context.js';
import { openStream, type Cursors, type Stream, type StreamOptions } from './stream.js';
import { createWriter, type Signing, type Writer } from './write.js';

export interface ClientOptions {
  /** Address of the gateway, without `/v1`. */
  readonly url: string;
  /** A chain that the client knows, or one that the caller describes: the Diamond's address is not taken from the gateway. */
  readonly chain: ChainSlug | (ChainFacts & { readonly slug: string });
  /** The agent's private key, or what signs with it. */
  readonly agent?: Hex | Signer | undefined;
  /** Reads one account; needs `trader` for paths of that account. */
  readonly apiKey?: string | undefined;
  /** Whom the agent acts for; looked up, and checked on the chain, when absent. */
  readonly trader?: Hex | undefined;
  /** A node of the chain, by its address or as a function. Needed to verify and to send. */
  readonly rpc?: string | Rpc | undefined;
  /** The referrer of openings that name none. Absent: no referrer, whatever the gateway would put there. */
  readonly referrer?: Hex | undefined;
  readonly limits?: Limits | undefined;
  readonly fees?: FeeLimits | undefined;
  /** For so long, in ms, the node may be behind the gateway where a reply says that nothing has to be sent; 5,000 by default. */
  readonly nodeLagMs?: number | undefined;
  /** The name in the gateway's signing domain; taken from the gateway when absent. */
  readonly serviceName?: string | undefined;
  readonly headerPrefix?: string | undefined;
  readonly fetch?: Fetch | undefined;
  /** Epoch ms; this machine's clock by default. A gateway that refuses its time is followed, up to ten minutes. */
  readonly clock?: (() => number) | undefined;
  /** The platform's by default; Node 20 has none: pass that of the package `ws`. */
  readonly WebSocket?: SocketConstructor | undefined;
}

export interface Client extends Api, Writer {
  readonly chain: ChainFacts & { readonly slug: string };
  readonly agent: Signer | null;
  /** Whom this client acts for. */
  readonly trader: () => Promise<Hex>;
  /** Headers of a request of your own making, over its exact bytes. */
  readonly sign: (request: {
    readonly operation: string;
    readonly method: string;
    readonly path: string;
    readonly body?: Uint8Array;
  }) => Promise<Readonly<Record<string, string>>>;
  /** Opens the stream; it comes back after a cut and continues behind the last message, none lost and none twice. */
  readonly stream: (options?: StreamOptions) => Stream;
  /** A stream that continues behind cursors that an earlier one had reached, also one of another process. */
  readonly resume: (cursors: Cursors, options?: StreamOptions) => Stream;
}

const USUAL_NODE_LAG_MS = 5_000;

export function createClient(options: ClientOptions): Client {
  const chain = chainOf(options.chain);
  const url = baseUrl(options.url);
  const headerPrefix = options.headerPrefix ?? 'X-Service-';
  const fetch: Fetch = options.fetch ?? ((address, init) => globalThis.fetch(address, init));
  const agent = typeof options.agent === 'string' ? agentFromKey(options.agent) : (options.agent ?? null);
  const rpc = typeof options.rpc === 'string' ? httpRpc(options.rpc, fetch) : (options.rpc ?? null);
  const reader = rpc === null ? null : createChainReader(rpc, chain);
  const sender = rpc === null || agent === null ? null : createSender(rpc, agent, chain, options.fees ?? {});

  const trader = once(() => findTrader(options.trader, agent, reader, (address) => caller.call('getAgent', { address })));
  const domain = once(async (): Promise<SigningDomain> => {
    const name = options.serviceName ?? serviceNameOf(chain, await caller.call('getChainInfo', {}));
    return { name, version: '1', chainId: chain.chainId, verifyingContract: chain.diamond };
  });
  const apiKey = options.apiKey ?? null;
  const clock = options.clock ?? Date.now;
  const caller = createCaller({ url, chain: chain.slug, agent, apiKey, headerPrefix, fetch, clock, domain, trader });

  const api = Object.fromEntries(
    (Object.keys(OPERATIONS) as OperationId[]).map((id) => [
      id,
      (input: Operations[typeof id]['input'] = {}, callOptions?: CallOptions) => caller.call(id, input, callOptions),
    ]),
  ) as unknown as Api;

  const writer = createWriter({
    api,
    chain,
    trader,
    now: () => caller.now(),
    limits: options.limits ?? {},
    referrer: options.referrer,
    nodeLagMs: options.nodeLagMs ?? USUAL_NODE_LAG_MS,
    signing: () => requireSigning(agent, reader, sender, chain),
  });

  const login = async (): Promise<object | null> => {
    if (agent === null) return apiKey === null ? null : { op: 'auth', apiKey };
    const request = {
      operation: 'wsAuth',
      method: 'WS',
      path: socketPath,
      body: new Uint8Array(),
      timestamp: caller.now(),
      nonce: newNonce(),
    };
    return { op: 'auth', ...(await signRequest(agent, await domain(), request)) };
  };
  const socketPath = `/v1/${chain.slug}/ws`;
  const stream: Client['stream'] = (streamOptions) =>
    openStream(
      {
        url: `${url.replace(/^http/, 'ws')}${socketPath}`,
        WebSocket: options.WebSocket,
        login,
        adoptClock: (serverTime) => caller.adoptClock(serverTime),
      },
      streamOptions,
    );

  return {
    ...api,
    ...writer,
    stream,
    resume: (cursors, streamOptions = {}) => stream({ ...streamOptions, cursors }),
    chain,
    agent,
    trader,
    async sign({ operation, method, path, body = new Uint8Array() }) {
      if (agent === null) throw new ClientError('Only a client with an agent signs.');
      const request = { operation, method, path, body, timestamp: caller.now(), nonce: newNonce() };
      return signatureHeaders(await signRequest(agent, await domain(), request), headerPrefix);
    },
  };
}

function chainOf(chain: ClientOptions['chain']): ChainFacts & { readonly slug: string } {
  if (typeof chain !== 'string') return chain;
  const known = (CHAINS as Readonly<Record<string, ChainFacts | undefined>>)[chain];
  if (known === undefined) throw new ClientError(`No chain is called ${chain}: it is one of ${Object.keys(CHAINS).join(', ')}.`);
  return { ...known, slug: chain };
}

/** Paths are signed, so the address must not add to them. */
function baseUrl(text: string): string {
  const { origin, pathname } = new URL(text);
  if (pathname !== '/') throw new ClientError(`The address of a gateway has no path: use ${origin}, not ${text}.`);
  return origin;
}

function serviceNameOf(chain: ChainFacts, { chainId, diamond, signing }: ChainInfo): string {
  requireSame('CHAIN_ID', 'the gateway serves another chain under this name', chain.chainId, chainId);
  requireSame('DOMAIN', 'the gateway names another Diamond', chain.diamond, diamond);
  return signing.domain.name;
}

/** The chain decides who the delegate of a trader is, so a trader that the gateway names is checked there. */
async function findTrader(
  given: Hex | undefined,
  agent: Signer | null,
  reader: ChainReader | null,
  lookUp: (address: Hex) => Promise<Operations['getAgent']['reply']>,
): Promise<Hex> {
  if (given !== undefined) return given;
  if (agent === null) throw new ClientError('A client without an agent needs `trader`: the account that it reads.');
  const { trader } = (await lookUp(agent.address)).agent;
  if (!isAddress(trader)) throw new VerificationError('TRADER', 'the gateway names no account as the trader', null, String(trader));
  if (reader === null || trader.toLowerCase() === agent.address.toLowerCase()) return trader;
  const delegate = await reader.delegateOf(trader);
  if (delegate.toLowerCase() !== agent.address.toLowerCase())
    throw new VerificationError('TRADER', 'the trader that the gateway names has not delegated to this agent', agent.address, delegate);
  return trader;
}

async function requireSigning(
  agent: Signer | null,
  reader: ChainReader | null,
  sender: Sender | null,
  { chainId }: ChainFacts,
): Promise<Signing> {
  if (agent === null) throw new ClientError('Only a client with an agent verifies and sends transactions.');
  if (reader === null || sender === null)
    throw new ClientError('Verifying and sending need `rpc`: what the gateway says is checked on the chain.');
  requireSame('CHAIN_ID', 'the node belongs to another chain', chainId, await reader.chainId());
  return { agent, reader, sender };
}

/** Remembers what succeeded. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}
