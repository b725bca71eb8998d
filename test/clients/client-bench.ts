import { randomBytes } from 'node:crypto';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import type { Trade } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { startRecordingProxy, type RecordingProxy } from '../harness/hyperliquid/recording-proxy.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** The contract's number of BTC, and where its price stands still. */
export const BTC = 0;
export const PRICE = 60_000;

/** A sandbox behind a wire that checks what clients are answered. */
export interface ClientBench {
  readonly sandbox: TestVenue;
  readonly door: RecordingProxy;
  /** The one thing a bot changes: its base URL. */
  readonly base: string;
  /** That of its stream. */
  readonly stream: string;
  /** Once the service has confirmed that these are told about the account. */
  subscribed(address: string, ...types: readonly string[]): Promise<void>;
  newBot(usdc?: string): Promise<FacadeTrader>;
  stop(): Promise<void>;
}

export async function startClientBench(): Promise<ClientBench> {
  const sandbox = await sharedVenue();
  const door = await startRecordingProxy(sandbox.url);
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === BigInt(PRICE) * 10n ** 10n,
  );
  return {
    sandbox,
    door,
    base: `${door.url}/hl/${FACADE_CHAIN}`,
    stream: `${door.url.replace(/^http/, 'ws')}/hl/${FACADE_CHAIN}/ws`,
    async subscribed(address, ...types) {
      const confirmed = (type: string): boolean =>
        door.frames.some(
          (text) => text.includes('"subscriptionResponse"') && text.includes(`"${type}"`) && text.includes(address.toLowerCase()),
        );
      await eventually(
        () => types.filter((type) => !confirmed(type)),
        (missing) => missing.length === 0,
        20_000,
      );
    },
    newBot: (usdc) => newFacadeTrader(sandbox, usdc),
    async stop() {
      await door.stop();
      await sandbox.stop();
    },
  };
}

/** Everything these clients saw had the shape they expect, and there was something to see. */
export function expectEveryAnswerFits({ seen, frames, faults }: RecordingProxy): void {
  expect(faults).toEqual([]);
  expect(frames.length).toBeGreaterThan(0);
  expect(new Set(seen.map(({ door }) => door))).toEqual(new Set(['info', 'exchange']));
}

/** The trades and resting orders of the contract, once they are as described. */
export const tradesOnceThey = (trader: ChainTrader, are: (trades: readonly Trade[]) => boolean): Promise<readonly Trade[]> =>
  eventually(() => trader.trades(), are, 20_000);

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

/** The contract's price of a number. */
export const chainPrice = (price: number): bigint => BigInt(price) * 10n ** 10n;

/** A name no other order has. */
export const newCloid = (): `0x${string}` => `0x${randomBytes(16).toString('hex')}`;
