import { randomBytes } from 'node:crypto';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import type { Trade } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { startRecordingProxy, type RecordingProxy } from '../harness/hyperliquid/recording-proxy.js';
import { answersWhenKnown } from '../harness/venue/answer-hold.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** The contract's number of BTC, and where its price stands still. */
export const BTC = 0;
export const PRICE = 60_000;
/** How long clients wait for an answer, where they have a setting for it: their own 10 seconds pass on a busy machine. */
export const CLIENT_TIMEOUT_MS = 110_000;

/** A sandbox behind a proxy that checks what clients are answered. */
export interface ClientBench {
  readonly sandbox: TestVenue;
  readonly proxy: RecordingProxy;
  /** The one thing a bot changes: its base URL. */
  readonly base: string;
  /** That of its stream. */
  readonly stream: string;
  /** Resolves once the service has confirmed these subscriptions of the account. */
  subscribed(address: string, ...types: readonly string[]): Promise<void>;
  newBot(usdc?: string): Promise<FacadeTrader>;
  stop(): Promise<void>;
}

export async function startClientBench(): Promise<ClientBench> {
  const sandbox = await sharedVenue();
  const proxy = await startRecordingProxy(sandbox.url);
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === BigInt(PRICE) * 10n ** 10n,
  );
  return {
    sandbox,
    proxy,
    base: `${proxy.url}/hl/${FACADE_CHAIN}`,
    stream: `${proxy.url.replace(/^http/, 'ws')}/hl/${FACADE_CHAIN}/ws`,
    async subscribed(address, ...types) {
      const confirmed = (type: string): boolean =>
        proxy.frames.some(
          (text) => text.includes('"subscriptionResponse"') && text.includes(`"${type}"`) && text.includes(address.toLowerCase()),
        );
      await eventually(
        () => types.filter((type) => !confirmed(type)),
        (missing) => missing.length === 0,
      );
    },
    newBot: (usdc) => newFacadeTrader(sandbox, usdc),
    async stop() {
      await proxy.stop();
      await sandbox.stop();
    },
  };
}

/** Everything these clients saw had the shape they expect, and there was something to see. */
export function expectEveryAnswerFits({ seen, frames, faults }: RecordingProxy): void {
  expect(faults).toEqual([]);
  expect(frames.length).toBeGreaterThan(0);
  expect(new Set(seen.map(({ endpoint }) => endpoint))).toEqual(new Set(['info', 'exchange']));
}

/** The trades and resting orders of the contract, once they are as described. */
export const tradesOnceThey = (trader: ChainTrader, are: (trades: readonly Trade[]) => boolean): Promise<readonly Trade[]> =>
  eventually(() => trader.trades(), are);

export const onlyTrade = async (trader: ChainTrader, is: (trade: Trade) => boolean = () => true): Promise<Trade> => {
  const [trade] = await tradesOnceThey(trader, ([first, ...others]) => first !== undefined && others.length === 0 && is(first));
  if (!trade) throw new Error('there is no trade');
  return trade;
};

export const noTrade = async (trader: ChainTrader): Promise<void> => {
  await tradesOnceThey(trader, ({ length }) => length === 0);
};

/** Base units of a trade as a number: collateral times leverage by its price. */
export const sizeOf = ({ collateralAmount, leverage, openPrice }: Trade): number =>
  ((Number(collateralAmount) / 1e6) * (leverage / 1_000)) / (Number(openPrice) / 1e10);

/** What every client can do, in plain numbers: the flows below are the same for all. */
export interface PlainBot extends FacadeTrader {
  buy(size: number): Promise<unknown>;
  sell(size: number): Promise<unknown>;
  /** Returns the order's number. */
  stopLoss(size: number, price: number): Promise<string>;
  cancel(id: string): Promise<unknown>;
  /** Signed: what was sold is negative. */
  fills(): Promise<readonly { readonly order: string; readonly size: number }[]>;
  position(): Promise<number>;
  /** Where the open stop loss stands. */
  stopPrice(id: string): Promise<number | undefined>;
  pastOrders(): Promise<readonly string[]>;
}

/** In lots: fractions of decimals do not add up. */
const lots = (size: number): number => Math.round(size * 100_000);
const sumOf = (fills: readonly { readonly size: number }[]): number => fills.reduce((sum, { size }) => sum + lots(size), 0);

function byOrderOf(fills: Awaited<ReturnType<PlainBot['fills']>>): Map<string, number> {
  const byOrder = new Map<string, number>();
  for (const { order, size } of fills) byOrder.set(order, (byOrder.get(order) ?? 0) + lots(size));
  return byOrder;
}

async function expectAddsUp(bot: PlainBot): Promise<void> {
  await eventually(
    async () => [sumOf(await bot.fills()), lots(await bot.position())],
    ([fills, position]) => fills === position,
  );
}

export async function addsUp(bot: PlainBot): Promise<void> {
  await bot.buy(0.1);
  await bot.sell(0.03);
  await bot.sell(0.2);
  expect(sumOf(await bot.fills())).toBe(lots(-0.13));
  await expectAddsUp(bot);
}

/** The contract fixes collateral times leverage before the oracle's price is known: at a lower price they buy more than was asked for. */
export async function isFilledForNoMore({ sandbox }: ClientBench, bot: PlainBot): Promise<void> {
  const chain = firstChain(sandbox);
  chain.setOraclePolicy(BTC, { mode: 'hold' });
  try {
    answersWhenKnown(sandbox);
    const sent = bot.buy(0.3);
    await eventually(
      () => bot.trader.pending(),
      (pending) => pending === 1,
    );
    sandbox.controls.prices.jump(BTC, String(PRICE * 0.99));
    chain.setOraclePolicy(BTC, { mode: 'auto' });
    await chain.mine(1);
    await sent;
  } finally {
    chain.setOraclePolicy(BTC, { mode: 'auto' });
    sandbox.controls.prices.jump(BTC, String(PRICE));
  }
  const held = sizeOf(await onlyTrade(bot.trader));
  expect(held).toBeGreaterThan(0.301);
  // The trade is on the chain before its fills are in the gateway.
  const byOrder = await eventually(
    async () => byOrderOf(await bot.fills()),
    ({ size }) => size === 2,
  );
  expect(Math.max(...byOrder.values())).toBe(lots(0.3));
  await expectAddsUp(bot);
}

/** Further away than the contract keeps a stop at this leverage. */
const BEYOND_CAP = 44_000;

export async function seesMovedStop(bot: PlainBot): Promise<void> {
  await bot.buy(0.1);
  const id = await bot.stopLoss(0.1, BEYOND_CAP);
  const { sl } = await onlyTrade(bot.trader, (trade) => trade.sl > 0n);
  expect(sl).toBeGreaterThan(chainPrice(BEYOND_CAP));
  const listed = await eventually(
    () => bot.stopPrice(id),
    (price) => price !== undefined && price !== BEYOND_CAP,
  );
  expect(listed).toBeCloseTo(Number(sl) / 1e10, -1);
}

export async function findsPastStop(bot: PlainBot): Promise<void> {
  await bot.buy(0.1);
  const id = await bot.stopLoss(0.1, 55_000);
  await onlyTrade(bot.trader, ({ sl }) => sl > 0n);
  await bot.cancel(id);
  await onlyTrade(bot.trader, ({ sl }) => sl === 0n);
  expect(await bot.pastOrders()).toContain(id);
}

const SILENCE_MS = 70_000;

export async function tradesAfterSilence(bot: PlainBot): Promise<void> {
  await bot.buy(0.1);
  await new Promise((resolve) => setTimeout(resolve, SILENCE_MS));
  await bot.sell(0.1);
  await noTrade(bot.trader);
}

/** The contract's price of a number. */
export const chainPrice = (price: number): bigint => BigInt(price) * 10n ** 10n;

/** A name no other order has. */
export const newCloid = (): `0x${string}` => `0x${randomBytes(16).toString('hex')}`;
