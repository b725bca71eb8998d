import { zeroAddress, type Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { frame, touchedTrade, type ChainFrame } from '../../../sandbox/backend/chain-events.js';
import { createChainBackend, type ChainBackend } from '../../../sandbox/backend/chain-backend.js';
import { createDiamondReader, readLog, type DiamondLog } from '../../../sandbox/backend/diamond-reader.js';
import { createMarketHours } from '../../../sandbox/backend/market-hours.js';
import { createNoise } from '../../../sandbox/backend/price-walk.js';
import { readTouchedTrades, readTrade, readTrades } from '../../../sandbox/backend/trade-reader.js';
import type { WireValue } from '../../../sandbox/backend/wire-format.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { diamondCall, price, trade, type Trade } from '../../harness/diamond/diamond-calls.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';
import { eventually } from '../../harness/time/eventually.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

/** What the backend takes from the events is what the views would have said, on the contract itself. */

const [LIMIT, STOP] = [1, 2];
const [DAI, USDC] = [1, 3];
const [BTC, ETH, EUR] = [0, 1, 9];
const [LIMIT_OPEN, TP_CLOSE] = [2, 4];
const FUNDS = { DAI: 10n ** 24n, USDC: 10n ** 12n };
/** Far more looks fit into the time after which a backend reads everything again. */
const POLL_MS = 1;
const hex = (value: number): Hex => `0x${value.toString(16)}`;
const at = (value: number) => ({ open: price(value), high: price(value), low: price(value), current: price(value) });

const amountIn = (collateralIndex: number): bigint => 200n * 10n ** (collateralIndex === DAI ? 18n : 6n);
const opening = (changes: Partial<Trade>): Hex => {
  const collateralIndex = changes.collateralIndex ?? USDC;
  return diamondCall('openTrade', [trade({ collateralIndex, collateralAmount: amountIn(collateralIndex), ...changes }), 1000, zeroAddress]);
};
const updating = (index: number, openPrice: number, tp = 0): Hex =>
  diamondCall('updateOpenOrder', [index, price(openPrice), price(tp), 0n, 700]);
const cancelling = (index: number): Hex => diamondCall('cancelOpenOrder', [index]);
const together = (...calls: Hex[]): Hex => diamondCall('multicall', [calls]);

let world: DiamondWorld;
let trader: PrivateKeyAccount;
let calls = 0;
let number = 0x70c4;

const counted = (method: string, params: readonly unknown[]): Promise<unknown> => {
  if (method === 'eth_call') calls += 1;
  return world.request(method, params);
};
const head = async (): Promise<number> => Number(await world.request('eth_blockNumber'));

beforeAll(async () => (world = await createDiamondWorld()));
afterAll(closeWorlds);
beforeEach(async () => {
  trader = await world.fund(account(number++), FUNDS);
  calls = 0;
});

/** Everything that was logged in the blocks which these steps made. */
async function stretch(...steps: (() => Promise<unknown>)[]): Promise<DiamondLog[]> {
  const before = await head();
  for (const step of steps) await step();
  const range = { address: world.diamond, fromBlock: hex(before + 1), toBlock: hex(await head()) };
  return ((await world.request('eth_getLogs', [range])) as unknown[]).map(readLog).filter((log) => log !== null);
}

const byEvents = (logs: readonly DiamondLog[]) => readTouchedTrades(createDiamondReader(counted, world.diamond, 'latest'), logs);

async function byViews(logs: readonly DiamondLog[]): Promise<ReadonlyMap<DiamondLog, ChainFrame>> {
  const frames = new Map<DiamondLog, ChainFrame>();
  const reader = createDiamondReader(world.request, world.diamond, 'latest');
  for (const log of logs) {
    const touched = touchedTrade(log);
    const container = touched && (await readTrade(reader, touched.user, touched.index));
    if (touched && container !== null) frames.set(log, frame(touched.frame, container));
  }
  return frames;
}

const textOf = (frames: ReadonlyMap<DiamondLog, ChainFrame>, logs: readonly DiamondLog[]): string[] =>
  logs.flatMap((log) => (frames.has(log) ? [JSON.stringify(frames.get(log))] : []));

/** The names of the frames, each of which is the one that the views would have given. */
async function framesOf(logs: readonly DiamondLog[]): Promise<string[]> {
  const [published, expected] = [await byEvents(logs), await byViews(logs)];
  expect(published).toEqual(expected);
  expect(textOf(published, logs)).toEqual(textOf(expected, logs));
  return logs.flatMap((log) => published.get(log)?.name ?? []);
}

/** Exits stand some percent away from the price, on the side on which they belong. */
interface Kind extends Pick<Trade, 'long' | 'pairIndex' | 'collateralIndex'> {
  readonly tp?: number;
  readonly sl?: number;
}

describe.each([
  ['limit', LIMIT],
  ['stop', STOP],
])('a new %s order', (_, tradeType) => {
  const exits = [{}, { tp: 9 }, { sl: 5 }, { tp: 3, sl: 4 }, { sl: 90 }];
  const kinds: Kind[] = [DAI, USDC].flatMap((collateralIndex) =>
    [BTC, ETH, EUR].flatMap((pairIndex) =>
      [true, false].flatMap((long) => exits.map((exit) => ({ ...exit, collateralIndex, pairIndex, long }))),
    ),
  );
  const orderOf = ({ tp = 0, sl = 0, long, ...rest }: Kind): Hex => {
    const away = (percent: number): bigint => (percent === 0 ? 0n : price(600 * (long ? 100 + percent : 100 - percent)));
    return opening({ ...rest, long, tradeType, tp: away(tp), sl: away(-sl) });
  };

  it('is published from its event alone, to the byte, whatever its side, market, collateral and exits', async () => {
    const orders = kinds.map((kind) => () => world.send(trader, orderOf(kind)));
    const logs = await stretch(...orders);
    expect(await framesOf(logs)).toEqual(kinds.map(() => 'registerTrade'));
    expect(calls).toBe(0);
    const published = [...(await byEvents(logs)).values()].map(({ value }) => value);
    expect(published).toEqual(await readTrades(world.request, world.diamond, trader.address));
  });

  it('is published with the exit that the contract has moved', async () => {
    const asked = price(30_000);
    const logs = await stretch(() => world.send(trader, opening({ tradeType, leverage: 50_000, sl: asked })));
    expect((await world.read('getTrade', [trader.address, 0])).sl).toBeGreaterThan(asked);
    expect(await framesOf(logs)).toEqual(['registerTrade']);
    expect(calls).toBe(0);
  });

  it('that is changed in its own transaction is published as it is now, read from the views once', async () => {
    const logs = await stretch(() => world.send(trader, together(opening({ tradeType }), updating(0, 59_000, 70_000))));
    expect(await framesOf(logs)).toEqual(['registerTrade', 'updateTrade']);
    expect(calls).toBe(1);
    expect(textOf(await byEvents(logs), logs)[0]).toContain(price(59_000).toString());
  });

  it('that is cancelled before the backend reads it is not published, and no view is read', async () => {
    const logs = await stretch(() => world.send(trader, together(opening({ tradeType }), updating(0, 59_000), cancelling(0))));
    expect(await framesOf(logs)).toEqual([]);
    expect(calls).toBe(0);
  });

  it('is published from its event beside others that were changed, cancelled and left alone', async () => {
    const logs = await stretch(
      () => world.send(trader, together(opening({ tradeType }), opening({ tradeType }), opening({ tradeType }))),
      () => world.send(trader, together(updating(0, 59_000), cancelling(2))),
    );
    expect(await framesOf(logs)).toEqual(['registerTrade', 'registerTrade', 'updateTrade']);
    expect(calls).toBe(1);
  });
});

describe('the views are asked', () => {
  it('for a position, of which the event that stored it does not say all', async () => {
    const logs = await stretch(() => world.open(trader, price(60_000)));
    expect(await framesOf(logs)).toEqual(['registerTrade']);
    expect(calls).toBe(1);
    expect(await framesOf(logs.filter(({ name }) => name === 'TradeStored'))).toEqual(['registerTrade']);
    expect(calls).toBe(2);
  });

  it('for the position that an order became, and not for the order', async () => {
    const logs = await stretch(
      () => world.send(trader, opening({ tradeType: LIMIT, openPrice: price(60_000) })),
      () => world.trigger(LIMIT_OPEN, { user: trader.address, index: 0 }, at(59_900)),
    );
    expect(logs.map(({ name }) => name)).toContain('LimitExecuted');
    expect(await framesOf(logs)).toEqual(['registerTrade']);
    expect(calls).toBe(1);
  });

  it('for an order that has rested for a while', async () => {
    await world.send(trader, opening({ tradeType: STOP }));
    const logs = await stretch(() => world.send(trader, updating(0, 61_000)));
    expect(await framesOf(logs)).toEqual(['updateTrade']);
    expect(calls).toBe(1);
  });

  it('for none of what has closed', async () => {
    const { index } = await world.open(trader, price(60_000), { tp: price(61_000) });
    const logs = await stretch(
      () => world.send(trader, diamondCall('updateTp', [index, price(61_500)])),
      () => world.trigger(TP_CLOSE, { user: trader.address, index }, at(61_500)),
    );
    expect(logs.map(({ name }) => name)).toContain('TradeClosed');
    expect(await framesOf(logs)).toEqual([]);
    expect(calls).toBe(0);
  });
});

type Roll = (sides: number) => number;

/** Seeded, so that a failure can be looked at again. */
function createDice(seed: number): Roll {
  const noise = createNoise(`touched ${seed}`);
  let rolled = 0;
  return (sides) => Math.floor(noise.uniform(0, rolled++) * sides);
}

/** Something that can happen to the trader's orders and positions. */
async function stir(roll: Roll): Promise<unknown> {
  const kind = roll(10);
  const somePrice = 59_500 + roll(1_000);
  if (kind < 4) return world.send(trader, opening({ tradeType: 1 + roll(2), long: roll(2) === 0, openPrice: price(somePrice) }));
  if (kind === 4) return world.open(trader, price(60_000), { long: roll(2) === 0 });
  const open = (await world.read('getTrades', [trader.address])).filter(({ tradeType }) => (tradeType === 0) === (kind === 9));
  const chosen = open[roll(open.length)];
  if (!chosen) return null;
  const { index, tradeType, openPrice } = chosen;
  if (kind < 7) return world.send(trader, updating(index, somePrice));
  if (kind === 7) return world.send(trader, cancelling(index));
  if (kind === 9) return world.send(trader, diamondCall('updateTp', [index, openPrice + BigInt(roll(100))]));
  const around = { open: openPrice, high: openPrice + price(600), low: openPrice - price(600), current: openPrice };
  return world.trigger(tradeType + 1, { user: trader.address, index }, around);
}

/** `npm run test:slow` takes more seeds. */
const SEEDS = process.env['SLOW_TESTS'] === '1' ? [1, 2, 3] : [1];

describe.each(SEEDS)('after any mix of steps (seed %d)', (seed) => {
  it('every frame is the one that the views would have given', async () => {
    const roll = createDice(seed);
    const [published, logged] = [new Set<string>(), new Set<string>()];
    for (let turn = 0; turn < 12; turn += 1) {
      const logs = await stretch(...Array.from({ length: 1 + roll(8) }, () => () => stir(roll)));
      for (const { name } of logs) logged.add(name);
      for (const name of await framesOf(logs)) published.add(name);
    }
    expect(published).toEqual(new Set(['registerTrade', 'updateTrade']));
    expect([...logged]).toEqual(expect.arrayContaining(['LimitExecuted', 'OpenLimitUpdated', 'OpenLimitCanceled', 'TradeTpUpdated']));
  });
});

describe('a backend that follows the chain', () => {
  const clock = createManualClock();
  let backend: ChainBackend;
  let frames: ChainFrame[] = [];
  beforeAll(async () => {
    const hours = createMarketHours({ markets: SANDBOX_MARKETS, clock });
    backend = createChainBackend({ chain: world.chain, read: counted, hours, clock, log: createRecordedLog(), pollMs: POLL_MS });
    backend.onFrame((sent) => void frames.push(sent));
    await backend.start();
  });
  afterAll(() => backend.stop());

  const valuesOf = (name: string): WireValue[] => frames.flatMap((sent) => (sent.name === name ? [sent['value'] ?? null] : []));
  const untilPublished = (name: string, times: number): Promise<unknown> =>
    eventually(
      async () => {
        await clock.pass(POLL_MS);
        return valuesOf(name).length;
      },
      (count) => count >= times,
    );
  const place = async (...prices: number[]): Promise<void> => {
    for (const value of prices) await world.send(trader, opening({ tradeType: LIMIT, openPrice: price(value) }));
  };

  it('asks the engine for nothing when orders come to rest, also after a reorganisation undid others under their numbers', async () => {
    const before = await world.request('evm_snapshot');
    await place(58_000, 58_100, 58_200);
    await untilPublished('registerTrade', 3);
    expect(calls).toBe(0);
    expect(valuesOf('registerTrade')).toEqual(await backend.openTrades(trader.address));

    await world.request('evm_revert', [before]);
    await place(57_000, 57_100, 57_200, 57_300);
    await untilPublished('deepReorg', 1);
    frames = [];
    calls = 0;
    await place(57_400);
    await untilPublished('registerTrade', 1);
    expect(calls).toBe(0);
    const open = await backend.openTrades(trader.address);
    expect(open).toHaveLength(5);
    expect(valuesOf('registerTrade')).toEqual(open.slice(-1));
  });
});
