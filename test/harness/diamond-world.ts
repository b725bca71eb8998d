import {
  createPublicClient,
  custom,
  isHex,
  maxUint256,
  zeroAddress,
  type Abi,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type Hex,
  type PublicClient,
} from 'viem';
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { diamondAbi } from '../../core/adapters/diamond-abi.js';
import { chainBySlug, type ChainDefinition, type ChainSlug } from '../../core/chains.js';
import type { Address } from '../../core/ports.js';
import { createEngine, type Engine } from '../../sandbox/chain/engine.js';
import { tokenAbi } from '../../sandbox/contracts/artefact.js';
import { deployDiamond, type DeployedCollateral } from '../../sandbox/deploy.js';
import type { SandboxMarket } from '../../sandbox/markets.js';
import {
  RevertedError,
  argsOf,
  controlCall,
  decodeLog,
  diamondCall,
  packed,
  tokenCall,
  trade,
  type DiamondLog,
  type RawLog,
  type Trade,
} from './diamond-calls.js';

/** A chain with the sandbox's Diamond on it and nothing else: no oracle, no miner, no clock. A test does every step itself. */

export const GENESIS_TIME = 1_750_000_000;

export interface Receipt {
  readonly hash: Hex;
  readonly block: number;
  readonly gasUsed: bigint;
  /** What the Diamond logged, in order. */
  readonly logs: readonly DiamondLog[];
  readonly names: readonly string[];
}

export interface Id {
  readonly user: Address;
  readonly index: number;
}

export interface Candle {
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly current: bigint;
}

/** The same keys in every world: accounts are told apart by number. */
export const account = (number: number): PrivateKeyAccount => privateKeyToAccount(`0x${number.toString(16).padStart(64, '0')}`);

export const OPERATOR = account(0xfee1);

interface WorldOptions {
  readonly chain?: ChainSlug;
  readonly markets?: readonly (SandboxMarket | null)[];
}

export interface DiamondWorld {
  readonly chain: ChainDefinition;
  readonly diamond: Address;
  readonly collaterals: readonly DeployedCollateral[];
  readonly engine: Engine;
  /** One RPC call; a revert is a `RevertedError`. */
  readonly request: RpcRequest;
  readonly client: PublicClient;
  /** Timestamp of the latest block, which is what `eth_call` sees. */
  now(): Promise<number>;
  /** Mines one block, by default a second after the last one. */
  mine(seconds?: number): Promise<void>;
  /** Many blocks within the same second. */
  mineBlocks(count: number): Promise<void>;
  /** Signs, mines and returns the receipt; throws `RevertedError` and mines nothing when the call would revert. */
  readonly send: Send;
  /** `send` by the operator. */
  control(data: Hex): Promise<Receipt>;
  token(symbol: string): Address;
  /** `eth_call` from an account: what the call returns, or a `RevertedError`. */
  call(from: PrivateKeyAccount, data: Hex, value?: bigint): Promise<unknown>;
  readonly read: Reader;
  balanceOf(symbol: string, owner: Address): Promise<bigint>;
  /** Native currency for gas, ten thousand USDC unless told otherwise, all of it approved. */
  fund(trader: PrivateKeyAccount, amounts?: Readonly<Record<string, bigint>>): Promise<PrivateKeyAccount>;
  /** Asks for a market open; the id is what the oracle answers. */
  requestOpen(trader: PrivateKeyAccount, changes?: Partial<Trade>, maxSlippageP?: number): Promise<Id>;
  /** Opens at the oracle's price; the trade's id with the callback's receipt. */
  open(trader: PrivateKeyAccount, at: bigint, changes?: Partial<Trade>, maxSlippageP?: number): Promise<Id & { receipt: Receipt }>;
  fulfil(id: Id, at: bigint): Promise<Receipt>;
  reject(id: Id, reason: number): Promise<Receipt>;
  trigger(orderType: number, id: Id, candle: Candle): Promise<Receipt>;
}

export async function createDiamondWorld({ chain: slug = 'arbitrum-sepolia', markets }: WorldOptions = {}): Promise<DiamondWorld> {
  const chain = chainBySlug(slug);
  const engine = await createEngine({ chainId: chain.chainId, genesisTime: GENESIS_TIME, balances: new Map() });
  const { diamond, collaterals } = await deployDiamond({
    request: (method, params) => engine.request(method, params),
    chain,
    operator: OPERATOR,
    ...(markets ? { markets } : {}),
  });

  async function request(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const answer = await engine.request(method, params);
    if (!('error' in answer)) return answer.result;
    const reverted = revertData(answer.error.data);
    if (reverted !== null) throw new RevertedError(reverted);
    throw new Error(`${method}: ${answer.error.message}`);
  }

  const client = createPublicClient({
    transport: custom(
      { request: ({ method, params }: { method: string; params?: readonly unknown[] }) => request(method, params) },
      { retryCount: 0 },
    ),
  });
  const chainAt = { request, client, chainId: chain.chainId, diamond };
  const clock = createClock(request);
  const send = createSender(chainAt, clock.mine);
  const control = (data: Hex): Promise<Receipt> => send(OPERATOR, data);
  const token = (symbol: string): Address => collateralOf(collaterals, symbol).address;

  return {
    chain,
    diamond,
    collaterals,
    request,
    client,
    engine,
    ...clock,
    send,
    control,
    token,
    call: (from, data, value = 0n) => simulate(chainAt, from, diamond, data, value),
    read: createReader(chainAt),
    balanceOf: (symbol, owner) => client.readContract({ address: token(symbol), abi: tokenAbi, functionName: 'balanceOf', args: [owner] }),
    ...createTraders(chainAt, send, token),
    fulfil: (id, at) => control(controlCall('sandboxFulfill', [id, at])),
    reject: (id, reason) => control(controlCall('sandboxReject', [id, reason])),
    trigger: (orderType, id, candle) =>
      control(controlCall('sandboxTrigger', [packed(orderType, id.user, id.index), candle.open, candle.high, candle.low, candle.current])),
  };
}

/** The engine nests the revert bytes; a node in front of it hands them out as geth does. */
function revertData(data: unknown): Hex | null {
  const bytes = typeof data === 'object' && data !== null && 'data' in data ? data.data : data;
  return isHex(bytes) ? bytes : null;
}

type Send = (from: PrivateKeyAccount, data: Hex, options?: { to?: Address; value?: bigint }) => Promise<Receipt>;
type RpcRequest = (method: string, params?: readonly unknown[]) => Promise<unknown>;

interface ChainAt {
  readonly request: RpcRequest;
  readonly client: PublicClient;
  readonly chainId: number;
  readonly diamond: Address;
}

type ViewName = ContractFunctionName<typeof diamondAbi, 'view' | 'pure'>;
type ViewArgs<Name extends ViewName> = ContractFunctionArgs<typeof diamondAbi, 'view' | 'pure', Name> & readonly unknown[];
type ViewResult<Name extends ViewName> = ContractFunctionReturnType<typeof diamondAbi, 'view' | 'pure', Name>;

type Reader = <Name extends ViewName>(functionName: Name, args: ViewArgs<Name>) => Promise<ViewResult<Name>>;

function createReader({ client, diamond }: ChainAt): Reader {
  const abi: Abi = diamondAbi;
  /** The one seam between the wide ABI viem decodes with and the types its names stand for. */
  return async <Name extends ViewName>(functionName: Name, args: ViewArgs<Name>) =>
    (await client.readContract({ address: diamond, abi, functionName, args })) as ViewResult<Name>;
}

function collateralOf<Row extends { symbol: string }>(rows: readonly Row[], symbol: string): Row {
  const found = rows.find((row) => row.symbol === symbol);
  if (!found) throw new Error(`no collateral is called ${symbol}`);
  return found;
}

function createClock(request: RpcRequest) {
  const now = async (): Promise<number> =>
    Number(((await request('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }).timestamp);
  const mine = async (seconds = 1): Promise<void> => {
    await request('evm_mine', [`0x${((await now()) + seconds).toString(16)}`]);
  };
  const mineBlocks = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await mine(0);
  };
  return { now, mine, mineBlocks };
}

const simulate = (at: ChainAt, from: PrivateKeyAccount, to: Address, data: Hex, value: bigint): Promise<unknown> =>
  at.request('eth_call', [{ from: from.address, to, data, value: `0x${value.toString(16)}`, gas: '0xf42400' }, 'latest']);

function createSender(at: ChainAt, mine: () => Promise<void>): Send {
  return async (from, data, { to = at.diamond, value = 0n } = {}) => {
    await simulate(at, from, to, data, value);
    const nonce = Number(await at.request('eth_getTransactionCount', [from.address, 'latest']));
    const fees = { gas: 16_000_000n, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 0n };
    const signed = await from.signTransaction({ type: 'eip1559', chainId: at.chainId, nonce, to, data, value, ...fees });
    const hash = (await at.request('eth_sendRawTransaction', [signed])) as Hex;
    await mine();
    return readReceipt(at, hash);
  };
}

async function readReceipt(at: ChainAt, hash: Hex): Promise<Receipt> {
  const receipt = (await at.request('eth_getTransactionReceipt', [hash])) as {
    status: string;
    blockNumber: string;
    gasUsed: string;
    logs: RawLog[];
  };
  if (receipt.status !== '0x1') throw new Error(`transaction ${hash} failed when it was mined`);
  const logs = receipt.logs.filter(({ address }) => address.toLowerCase() === at.diamond.toLowerCase()).map(decodeLog);
  return {
    hash,
    block: Number(receipt.blockNumber),
    gasUsed: BigInt(receipt.gasUsed),
    logs,
    names: logs.map(({ eventName }) => eventName),
  };
}

function createTraders(at: ChainAt, send: Send, token: (symbol: string) => Address) {
  async function fund(
    trader: PrivateKeyAccount,
    amounts: Readonly<Record<string, bigint>> = { USDC: 10_000_000_000n },
  ): Promise<PrivateKeyAccount> {
    await at.request('hardhat_setBalance', [trader.address, `0x${(10n ** 21n).toString(16)}`]);
    for (const [symbol, amount] of Object.entries(amounts)) {
      await send(OPERATOR, tokenCall('sandboxMint', [trader.address, amount]), { to: token(symbol) });
      await send(trader, tokenCall('approve', [at.diamond, maxUint256]), { to: token(symbol) });
    }
    return trader;
  }

  async function requestOpen(trader: PrivateKeyAccount, changes: Partial<Trade> = {}, maxSlippageP = 1000): Promise<Id> {
    const { logs } = await send(trader, diamondCall('openTrade', [trade(changes), maxSlippageP, zeroAddress]));
    return argsOf(logs, 'MarketOrderInitiated').orderId;
  }

  async function open(
    trader: PrivateKeyAccount,
    at: bigint,
    changes: Partial<Trade> = {},
    maxSlippageP = 1000,
  ): Promise<Id & { receipt: Receipt }> {
    const id = await requestOpen(trader, { openPrice: at, ...changes }, maxSlippageP);
    const receipt = await send(OPERATOR, controlCall('sandboxFulfill', [id, at]));
    return { user: trader.address, index: argsOf(receipt.logs, 'MarketExecuted').index, receipt };
  }

  return { fund, requestOpen, open };
}
