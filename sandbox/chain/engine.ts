import { createRequire } from 'node:module';
import type * as Edr from '@nomicfoundation/edr';
import { StartError } from '../../core/errors.js';

/** The only file that touches the EVM engine, whose API is internal to its makers and therefore pinned exactly. */

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

export type RpcAnswer = { result: unknown } | { error: RpcError };

export interface EngineOptions {
  chainId: number;
  /** Epoch seconds of the genesis block; fixed, so that a replay reproduces every hash. */
  genesisTime: number;
  /** Accounts that exist from genesis, in wei. */
  balances: ReadonlyMap<`0x${string}`, bigint>;
}

export interface EngineCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface Engine {
  /** The engine's own reply; errors are in its words, see geth-errors.ts. */
  request(method: string, params?: readonly unknown[]): Promise<RpcAnswer>;
  /** For calls that cannot be refused: returns the result or throws. */
  ask<Result>(method: string, params?: readonly unknown[]): Promise<Result>;
  /** Runs all calls in order and uninterrupted; null as soon as one is refused: those before it are done, those after it are not. */
  inOneGo(calls: readonly EngineCall[]): Promise<readonly unknown[] | null>;
  /** Releases the chain and its threads, even if the engine is still referenced. */
  close(): void;
}

/** The package is CommonJS with a native binding and may be absent in a production install: loaded on first use only. */
function load(): typeof Edr {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // it asks for a report of the process to learn which C library there is, and that holds a stack
  try {
    return createRequire(import.meta.url)('@nomicfoundation/edr') as typeof Edr;
  } catch (error) {
    const platform = `${process.platform}-${process.arch}`;
    throw new StartError(
      `The EVM engine of the sandbox does not load on ${platform}: install the optional package @nomicfoundation/edr, or set SANDBOX_RPC_URL to a node.`,
      { cause: error },
    );
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const bytes = (hex: string): Buffer => Buffer.from(hex.slice(2), 'hex');

/** One context per process: the engine's thread pool and tracing are global to it. */
let shared: Promise<Edr.EdrContext> | undefined;

function context(edr: typeof Edr): Promise<Edr.EdrContext> {
  shared ??= (async () => {
    const created = new edr.EdrContext();
    await created.registerProviderFactory(edr.L1_CHAIN_TYPE, edr.l1ProviderFactory());
    return created;
  })();
  return shared;
}

function settings(edr: typeof Edr, options: EngineOptions): Edr.ProviderConfig {
  return {
    allowBlocksWithSameTimestamp: true,
    allowUnlimitedContractSize: false,
    bailOnCallFailure: true,
    bailOnTransactionFailure: false,
    // Target = gas limit, so no block is above it, and an empty one lowers the fee by base / 2^63 = 0: the base fee stays constant until it
    // is set, like an L2 at its floor, and no block needs a call to keep it.
    baseFeeConfig: [{ activation: { blockNumber: 0n }, maxChangeDenominator: 1n << 63n, elasticityMultiplier: 1n }],
    chainId: BigInt(options.chainId),
    networkId: BigInt(options.chainId),
    coinbase: bytes('0xc014ba5ec014ba5ec014ba5ec014ba5ec014ba5e'),
    defaultTransactionGasLimit: 16_777_216n,
    genesisState: [
      ...edr.l1GenesisState(edr.l1HardforkFromString(edr.PRAGUE)),
      ...[...options.balances].map(([address, balance]) => ({ address: bytes(address), balance })),
    ],
    hardfork: edr.PRAGUE,
    initialBaseFeePerGas: 100_000_000n,
    minGasPrice: 0n,
    // First come, first served, as a sequencer does; so a replay that sends a block's transactions in order reproduces their order.
    mining: { autoMine: false, blockGasLimit: 60_000_000n, memPool: { order: edr.MineOrdering.Fifo } },
    network: { genesisBlockGasLimit: 60_000_000n, genesisBlockTime: BigInt(options.genesisTime) },
    observability: {},
    ownedAccounts: [],
    precompileOverrides: [],
  };
}

export async function createEngine(options: EngineOptions): Promise<Engine> {
  const edr = load();
  let provider: Edr.Provider | null = await (
    await context(edr)
  ).createProvider(
    edr.L1_CHAIN_TYPE,
    settings(edr, options),
    { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => undefined },
    { subscriptionCallback: () => undefined },
    new edr.ContractDecoder(),
  );

  async function handle(body: object): Promise<{ result?: unknown; error?: RpcError }> {
    if (provider === null) throw new Error('the chain is closed');
    const response = await provider.handleRequest(JSON.stringify(body));
    return (typeof response.data === 'string' ? JSON.parse(response.data) : response.data) as { result?: unknown; error?: RpcError };
  }

  async function request(method: string, params: readonly unknown[] = []): Promise<RpcAnswer> {
    const { result, error } = await handle({ jsonrpc: '2.0', id: 1, method, params });
    return error === undefined ? { result: result ?? null } : { error };
  }

  return {
    request,
    async ask<Result>(method: string, params: readonly unknown[] = []): Promise<Result> {
      const answer = await request(method, params);
      if ('error' in answer) throw new Error(`${method}: ${answer.error.message}`);
      return answer.result as Result;
    },
    async inOneGo(calls) {
      const { result, error } = await handle(calls.map(({ method, params }) => ({ jsonrpc: '2.0', id: 1, method, params })));
      return error === undefined ? (result as unknown[]) : null;
    },
    close: () => (provider = null),
  };
}

/** Read-only methods, which may be repeated. */
const READS: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getStorageAt',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
]);
/** A call with a sender may be refused, and with it its whole batch; it takes so long that batching would gain little. */
const isSimulation = (method: string, [call]: readonly unknown[]): boolean =>
  method === 'eth_call' && typeof call === 'object' && call !== null && 'from' in call;

/** The engine serves no other request during a batch, and keeps the traces of all its calls. */
const MOST_TOGETHER = 16;

interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly answer: (answer: RpcAnswer | Promise<RpcAnswer>) => void;
}

/** Batches reads of one turn of the event loop: switching to the engine's thread and back costs more than most reads. */
export function readTogether(engine: Engine): Engine {
  let waiting: Question[] = [];

  function askAll(): void {
    const questions = waiting;
    waiting = [];
    for (let at = 0; at < questions.length; at += MOST_TOGETHER) void askSome(questions.slice(at, at + MOST_TOGETHER));
  }

  /** If one read of a batch is refused, it is not known which: then each is sent on its own. */
  async function askSome(questions: readonly Question[]): Promise<void> {
    const results = questions.length > 1 ? await engine.inOneGo(questions).catch(() => null) : null;
    for (const [at, { method, params, answer }] of questions.entries())
      answer(results === null ? engine.request(method, params) : { result: results[at] });
  }

  function request(method: string, params: readonly unknown[] = []): Promise<RpcAnswer> {
    if (!READS.has(method) || isSimulation(method, params)) return engine.request(method, params);
    // By the next tick, all reads of one message have arrived.
    if (waiting.length === 0) process.nextTick(askAll);
    return new Promise((answer) => waiting.push({ method, params, answer }));
  }

  return { ...engine, request };
}
