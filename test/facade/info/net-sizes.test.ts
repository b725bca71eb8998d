import fc from 'fast-check';
import type { ChainEvent, Executed, TradeFigures } from '../../../core/domain/chain-event.js';
import { floorToLot } from '../../../core/domain/decimal.js';
import { entryBase } from '../../../core/domain/pricing/size.js';
import { applyFresh, revertAbove } from '../../../core/indexer/apply-events.js';
import { showExecutions } from '../../../facade/info/shown-fills.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

const CHAIN = 'arbitrum-sepolia';
const E18 = 10n ** 18n;
const LOT = E18 / 100n;
const USDC = { index: 3, precision: 10n ** 6n, priceUsd: 99_980_000n };
const WETH = { index: 2, precision: 10n ** 18n, priceUsd: 3_000n * 10n ** 8n };
const UNITS = [USDC, WETH];
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1_000 };

let replicas: Replicas;
let last = 0;
beforeAll(async () => {
  replicas = await openReplicas();
});
afterAll(() => replicas.close());

/** One thing that is done to one of a few trades, at whatever the collateral is worth then. */
const step = fc.record({
  trade: fc.nat({ max: 4 }),
  part: fc.bigInt({ min: 1n, max: 100n }),
  token: fc.bigInt({ min: 1n, max: 4n * E18 }),
  action: fc.constantFrom('increase', 'decrease', 'close', 'tp', 'liquidation'),
  cents: fc.bigInt({ min: -200n, max: 200n }),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** The steps as the executions that the interpreter reads from the contract's logs; a trade that is not there is opened. */
function executionsOf(trader: `0x${string}`, steps: readonly Step[]): ChainEvent[] {
  const open = new Map<number, { index: number; token: bigint; entryPriceUsd: bigint }>();
  return steps.map(({ trade, part, token, action, cents }, at): Executed => {
    const collateral = trade % 2 === 0 ? USDC : WETH;
    const collateralPriceUsd = collateral.priceUsd + (collateral.priceUsd * cents) / 10_000n;
    const known = open.get(trade) ?? { index: (last += 1), token: 0n, entryPriceUsd: collateralPriceUsd };
    const isNew = known.token === 0n;
    const moved = isNew || action === 'increase' ? token : action === 'decrease' ? (known.token * part) / 101n : known.token;
    const left = isNew || action === 'increase' ? known.token + moved : known.token - moved;
    if (left === 0n) open.delete(trade);
    else open.set(trade, { ...known, token: left });
    const terms = {
      ...{ pairIndex: 0, collateralIndex: collateral.index, long: trade < 3, leverage: 10_000n, collateralAmount: E18 },
      ...{ openPrice: 10n ** 13n, tp: 0n, sl: 0n },
    };
    const after: TradeFigures = { ...terms, sizeToken: left, isCounterTrade: false };
    const hash = `0x${(last += 1).toString(16).padStart(64, '0')}` as const;
    return {
      ...{ kind: 'executed', action: isNew ? 'open' : action, trader, orderKey: null, tradeIndex: known.index },
      place: { blockNumber: BigInt(at + 1), blockHash: hash, txHash: hash, logIndex: 0, at: 1_000 * (1 + Math.floor(at / 3)) },
      ...{ terms, price: 10n ** 13n, oraclePrice: 10n ** 13n, sizeCollateral: E18, sizeToken: moved, collateral: E18 },
      ...{ grossPnl: 0n, netPnl: 0n, fee: 0n, collateralPriceUsd, entryPriceUsd: isNew ? collateralPriceUsd : known.entryPriceUsd },
      after: left === 0n ? null : after,
    };
  });
}

it('any fills of several trades and collaterals chain from nothing to the open positions, and stay as they were first read, also through a reorganisation', async () => {
  const [store] = replicas.stores;
  let traders = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 30 }), fc.nat(), async (steps, cut) => {
      const trader = `0x${(traders += 1).toString(16).padStart(40, '0')}` as const;
      const events = executionsOf(trader, steps);
      const middle = 1 + (cut % (events.length - 1));
      const take = (some: readonly ChainEvent[]) => store.tracking.change(CHAIN, (unit) => applyFresh(unit, some, { units: UNITS }));
      const read = async (newestFirst: boolean) =>
        (await store.facade.history.fills(CHAIN, trader, { ...ALL, newestFirst })).map(({ before, after, ...fill }) => {
          if (before === null || after === null) throw new Error('a fill is not folded');
          return { ...fill, before, after };
        });
      await take(events.slice(0, middle));
      const early = await read(false);
      await take(events.slice(middle));
      const fills = await read(false);
      expect(fills).toHaveLength(events.length);
      expect(fills.slice(0, middle)).toEqual(early);
      await store.tracking.change(CHAIN, (unit) => revertAbove(unit, BigInt(middle)));
      expect(await read(false)).toEqual(early);
      await take(events.slice(middle));
      expect(await read(false)).toEqual(fills);
      expect((await read(true)).reverse()).toEqual(fills);
      const [oldest, ...later] = fills;
      expect(oldest?.before).toBe(0n);
      for (const [at, fill] of later.entries()) expect(near(fill.before, fills[at]?.after)).toBe(true);
      const positions = await store.account.openPositions(CHAIN, trader);
      const held = positions.reduce((sum, { position }) => {
        const units = UNITS.find(({ index }) => index === position.collateralIndex) ?? USDC;
        return sum + (position.long ? entryBase(position, units) : -entryBase(position, units));
      }, 0n);
      const shown = showExecutions(fills.map((fill) => ({ ...fill, lot: LOT, at: fill.executed.place.at, order: null })));
      const total = shown.reduce((sum, parts, at) => {
        const { before = 0n, after = 0n } = fills[at] ?? {};
        return parts.reduce((inner, { size }) => inner + (after > before ? size : -size), sum);
      }, 0n);
      expect(total).toBe(floorToLot(held, LOT));
      // The tape of the market has the same of each.
      const tape = (await store.facade.history.tape(CHAIN, 0, 1_000)).filter(({ executed }) => executed.trader === trader);
      expect(tape.reverse().map(({ id, before, after }) => ({ id, before, after }))).toEqual(
        fills.map(({ id, before, after }) => ({ id, before, after })),
      );
    }),
    { numRuns: 15 },
  );
});

/** Each is cut to whole units of 1e-18 by itself. */
const near = (a: bigint, b: bigint | undefined): boolean => b !== undefined && a - b <= 1n && b - a <= 1n;
