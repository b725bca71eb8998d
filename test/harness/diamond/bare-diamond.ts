import { maxUint256, zeroAddress, type Hex, type PublicClient } from 'viem';
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { chainBySlug, type ChainDefinition, type ChainSlug } from '../../../core/chains/chains.js';
import type { Address } from '../../../core/types.js';
import { createEngine, type Engine } from '../../../sandbox/chain/engine.js';
import { tokenAbi } from '../../../sandbox/contracts/artefact.js';
import { deployDiamond, type DeployedCollateral } from '../../../sandbox/deploy.js';
import type { SandboxMarket } from '../../../sandbox/markets.js';
import { argsOf, controlCall, diamondCall, packed, tokenCall, trade, type Trade } from './diamond-calls.js';
import {
  createClient,
  createClock,
  createReader,
  createRequest,
  createSender,
  simulate,
  type ChainAt,
  type Reader,
  type Receipt,
  type RpcRequest,
  type Send,
} from './diamond-rpc.js';

/** A chain with the sandbox's Diamond on it and nothing else: no oracle, no miner, no clock. A test does every step itself. */

export const GENESIS_TIME = 1_750_000_000;

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

/** The same keys in every world: accounts differ by number. */
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
  /** Native currency for gas, ten thousand USDC unless given otherwise, all of it approved. */
  fund(trader: PrivateKeyAccount, amounts?: Readonly<Record<string, bigint>>): Promise<PrivateKeyAccount>;
  /** Sends whatever needs the oracle; the id is what the oracle answers. */
  ask(trader: PrivateKeyAccount, data: Hex): Promise<Id>;
  /** `ask` for a market open. */
  requestOpen(trader: PrivateKeyAccount, changes?: Partial<Trade>, maxSlippageP?: number): Promise<Id>;
  /** Opens at the oracle's price; the trade's id with the callback's receipt. */
  open(trader: PrivateKeyAccount, at: bigint, changes?: Partial<Trade>, maxSlippageP?: number): Promise<Id & { receipt: Receipt }>;
  fulfil(id: Id, at: bigint): Promise<Receipt>;
  reject(id: Id, reason: number): Promise<Receipt>;
  trigger(orderType: number, id: Id, candle: Candle): Promise<Receipt>;
}

/** A worker keeps the modules of the test files it ran, and with them the worlds they hold: an engine that is closed lets its memory go. */
const running = new Set<Engine>();

/** `afterAll(closeWorlds)`, or after each test where each makes its own. */
export function closeWorlds(): void {
  for (const engine of running) engine.close();
  running.clear();
}

export async function createDiamondWorld({ chain: slug = 'arbitrum-sepolia', markets }: WorldOptions = {}): Promise<DiamondWorld> {
  const chain = chainBySlug(slug);
  const engine = await createEngine({ chainId: chain.chainId, genesisTime: GENESIS_TIME, balances: new Map() });
  running.add(engine);
  const { diamond, collaterals } = await deployDiamond({
    request: (method, params) => engine.request(method, params),
    chain,
    operator: OPERATOR,
    ...(markets ? { markets } : {}),
  });

  const request = createRequest(engine);
  const client = createClient(request);
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

function collateralOf<Row extends { symbol: string }>(rows: readonly Row[], symbol: string): Row {
  const found = rows.find((row) => row.symbol === symbol);
  if (!found) throw new Error(`no collateral is called ${symbol}`);
  return found;
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

  async function ask(trader: PrivateKeyAccount, data: Hex): Promise<Id> {
    const { user, index } = argsOf((await send(trader, data)).logs, 'PendingOrderStored').pendingOrder;
    return { user, index };
  }

  async function requestOpen(trader: PrivateKeyAccount, changes: Partial<Trade> = {}, maxSlippageP = 1000): Promise<Id> {
    return ask(trader, diamondCall('openTrade', [trade(changes), maxSlippageP, zeroAddress]));
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

  return { fund, ask, requestOpen, open };
}
