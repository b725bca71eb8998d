import fc from 'fast-check';
import type { Executed, PositionFound, TradeFigures } from '../../../core/domain/chain-event.js';
import { applyFresh, applyLate, revertAbove } from '../../../core/indexer/apply-events.js';
import { foldStored } from '../../../core/indexer/chain-steps.js';
import { FILLS_AT_ONCE, foldStoredNets, readFolded, TRADERS_AT_ONCE } from '../../../core/indexer/net-positions.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { GatewayError } from '../../../core/errors.js';
import type { TrackingUnit } from '../../../core/ports/stores/tracking.js';
import type { Address, Hex } from '../../../core/types.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

const CHAIN = 'arbitrum-sepolia';
const E18 = 10n ** 18n;
const E8 = 10n ** 8n;
const USDC = { index: 3, precision: 10n ** 6n, priceUsd: 99_980_000n };
const WETH = { index: 2, precision: 10n ** 18n, priceUsd: 3_000n * 10n ** 8n };
const UNITS = [USDC, WETH];
const MARKETS = 2;
/** Trades below this index were open before the index began. */
const OLDER = 3;

let replicas: Replicas;
let traders = 0;
let hashes = 0;
beforeAll(async () => {
  replicas = await openReplicas();
});
afterAll(() => replicas.close());

const newHash = (): Hex => `0x${(hashes += 1).toString(16).padStart(64, '0')}`;
const newTrader = (): Address => `0x${(traders += 1).toString(16).padStart(40, '0')}`;

/** One thing that is done to one of a few trades, at whatever the collateral is worth then; `isLate`: its log is missing at first. */
const step = fc.record({
  slot: fc.nat({ max: 6 }),
  part: fc.bigInt({ min: 1n, max: 100n }),
  token: fc.bigInt({ min: 1n, max: 4n * E18 }),
  action: fc.constantFrom('increase', 'decrease', 'close', 'sl', 'liquidation', 'leverage'),
  cents: fc.bigInt({ min: -200n, max: 200n }),
  isLate: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
const GROWTH: Step = { slot: 4, part: 1n, token: E18, action: 'increase', cents: 7n, isLate: false };

interface Trade {
  readonly tradeIndex: number;
  readonly figures: TradeFigures;
  readonly entryPriceUsd: bigint;
}

interface Happened {
  readonly event: Executed;
  readonly isLate: boolean;
  /** The trades as this left them, closed ones included. */
  readonly trades: ReadonlyMap<number, Trade>;
}

const collateralOf = (slot: number) => (slot % 2 === 0 ? USDC : WETH);
const figuresOf = (slot: number, sizeToken: bigint): TradeFigures => ({
  ...{ pairIndex: slot % MARKETS, collateralIndex: collateralOf(slot).index, long: slot % 3 !== 0, leverage: 10_000n },
  ...{ collateralAmount: E18, openPrice: 10n ** 13n, tp: 0n, sl: 0n, sizeToken, isCounterTrade: false },
});

/** What happens on the chain: a slot holds one trade at a time, and the next is opened once that is closed. */
function play(
  trader: Address,
  steps: readonly Step[],
): { readonly before: ReadonlyMap<number, Trade>; readonly happened: readonly Happened[] } {
  const open = new Map<number, Trade>();
  for (let slot = 0; slot < OLDER; slot += 1)
    open.set(slot, { tradeIndex: slot, figures: figuresOf(slot, BigInt(slot + 1) * E18), entryPriceUsd: collateralOf(slot).priceUsd });
  const trades = new Map([...open.values()].map((trade) => [trade.tradeIndex, trade]));
  const before = new Map(trades);
  const happened = steps.map(({ slot, part, token, action, cents, isLate }, at): Happened => {
    const collateral = collateralOf(slot);
    const collateralPriceUsd = collateral.priceUsd + (collateral.priceUsd * cents) / 10_000n;
    const known = open.get(slot);
    const isNew = known === undefined;
    const trade = known ?? { tradeIndex: trades.size, figures: figuresOf(slot, 0n), entryPriceUsd: collateralPriceUsd };
    const had = trade.figures.sizeToken;
    const added = isNew || action === 'increase' ? token : 0n;
    const taken = added > 0n || action === 'leverage' ? 0n : action === 'decrease' ? (had * part) / 101n : had;
    const figures = { ...trade.figures, sizeToken: had + added - taken };
    if (figures.sizeToken === 0n) open.delete(slot);
    else open.set(slot, { ...trade, figures });
    trades.set(trade.tradeIndex, { ...trade, figures });
    const { sizeToken: _, isCounterTrade: __, ...terms } = figures;
    const event: Executed = {
      ...{ kind: 'executed', action: isNew ? 'open' : action, trader, orderKey: null, tradeIndex: trade.tradeIndex },
      place: {
        blockNumber: BigInt(at + 1),
        blockHash: newHash(),
        txHash: newHash(),
        logIndex: at % 2,
        at: 1_000 * (1 + Math.floor(at / 3)),
      },
      ...{ terms, price: 10n ** 13n, oraclePrice: 10n ** 13n, sizeCollateral: E18, sizeToken: added + taken, collateral: E18 },
      ...{ grossPnl: 0n, netPnl: 0n, fee: 0n, collateralPriceUsd, entryPriceUsd: trade.entryPriceUsd },
      after: figures.sizeToken === 0n ? null : figures,
    };
    return { event, isLate, trades: new Map(trades) };
  });
  return { before, happened };
}

const store = () => replicas.stores[0];
const change = <Result>(work: (unit: TrackingUnit) => Promise<Result>): Promise<Result> => store().tracking.change(CHAIN, work);

/** As the follower ingests a range: trades that are not known are looked up before it, by a node with or without the state of then. */
async function ingest(trader: Address, past: ReadonlyMap<number, Trade>, range: readonly Happened[], hasOldState: boolean): Promise<void> {
  const [first] = range;
  const last = range.at(-1);
  if (!first || !last) return;
  const older = [...new Set(range.map(({ event }) => event.tradeIndex))].filter((tradeIndex) => tradeIndex < OLDER);
  const refs = older.map((tradeIndex) => ({ trader, tradeIndex }));
  const known = await store().tracking.knownTrades(CHAIN, refs);
  const found = refs.flatMap(({ tradeIndex }): PositionFound[] => {
    if (known.has(`${trader}/${tradeIndex}`)) return [];
    const now = last.trades.get(tradeIndex);
    const then = past.get(tradeIndex);
    const trade = hasOldState || now?.figures.sizeToken === 0n ? then : now;
    if (!trade) throw new Error('an older trade is not known');
    const place = { blockNumber: first.event.place.blockNumber, blockHash: null, txHash: null, logIndex: null, at: 0 };
    const about = { kind: 'found', trader, orderKey: null, tradeIndex, place, isOpen: true, slippageP: 0n, openedBlock: 0n } as const;
    return [{ ...about, trade: trade.figures, entryPriceUsd: trade.entryPriceUsd }];
  });
  await change(async (unit) => {
    await applyFresh(unit, found, { units: UNITS });
    await applyFresh(
      unit,
      range.flatMap(({ event, isLate }) => (isLate ? [] : [event])),
      { units: UNITS },
    );
  });
  const late = range.flatMap(({ event, isLate }) => (isLate ? [event] : []));
  await change((unit) => applyLate(unit, late, { units: UNITS }));
}

const netsOf = (trader: Address) =>
  change(async (unit) => (await unit.fillsAfter(trader, null, 10_000)).map(({ executed, net }) => ({ action: executed.action, net })));

it('the net position of each fill is that of the trades on the chain, whatever is found late, taken back or folded anew', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 24 }),
      fc.record({ cut: fc.nat(), fork: fc.nat(), hasOldState: fc.boolean() }),
      async (steps, { cut, fork, hasOldState }) => {
        const trader = newTrader();
        const { before, happened } = play(trader, steps);
        const middle = 1 + (cut % (happened.length - 1));
        const pastAt = (at: number) => (at === 0 ? before : (happened[at - 1]?.trades ?? before));
        const take = (from: number, to: number) => ingest(trader, pastAt(from), happened.slice(from, to), hasOldState);
        /** What the trades that the index knows of came to, by their sizes on the chain. */
        const expected = async (upTo: number) => {
          const older = Array.from({ length: OLDER }, (_, tradeIndex) => ({ trader, tradeIndex }));
          const known = await store().tracking.knownTrades(CHAIN, older);
          const netIn = (pairIndex: number, trades: ReadonlyMap<number, Trade>): bigint =>
            [...trades.values()]
              .filter(
                ({ tradeIndex, figures }) =>
                  figures.pairIndex === pairIndex && (tradeIndex >= OLDER || known.has(`${trader}/${tradeIndex}`)),
              )
              .reduce((sum, { figures, entryPriceUsd }) => sum + figures.sizeToken * entryPriceUsd * (figures.long ? 1n : -1n), 0n);
          return happened.slice(0, upTo).map(({ event: { action, terms }, trades }, at) => ({
            action,
            net: { before: netIn(terms.pairIndex, pastAt(at)) / E8, after: netIn(terms.pairIndex, trades) / E8 },
          }));
        };
        const agree = async (upTo: number) => {
          const nets = await netsOf(trader);
          expect(nets).toEqual(await expected(upTo));
          await change(async (unit) => {
            unit.forgetNets([trader]);
            await foldStoredNets(unit, UNITS);
          });
          expect(await netsOf(trader)).toEqual(nets);
        };
        await take(0, middle);
        await agree(middle);
        await take(middle, happened.length);
        await agree(happened.length);
        const height = fork % happened.length;
        await change((unit) => revertAbove(unit, BigInt(height), UNITS));
        // Without the state of then, a trade was found as it became in a block that is undone now.
        if (hasOldState) await agree(height);
        await take(height, happened.length);
        await agree(happened.length);
      },
    ),
    // The example: an older trade is found after a fill of its market, in a block that is taken back.
    { numRuns: 20, examples: [[[4, 4, 0].map((slot) => ({ ...GROWTH, slot })), { cut: 0, fork: 1, hasOldState: true }]] },
  );
});

describe('fills of a release that did not fold', () => {
  const CURSOR = { startBlock: 0n, number: 1_000_000n, hash: '0x1' } as const;
  const WINDOW = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 10_000, newestFirst: false };
  const venue = { definition: { slug: CHAIN }, feed: { config: () => ({ collaterals: UNITS }) } } as unknown as Venue;
  const gateway = (nth: 0 | 1): Gateway => ({ store: replicas.stores[nth] }) as unknown as Gateway;
  beforeAll(() => change((unit) => Promise.resolve(unit.setCursor(CURSOR))));

  /** A trader with this many fills, and their nets; nothing of it is stored as folded. */
  async function unfolded(fills: number) {
    const trader = newTrader();
    const { before, happened } = play(
      trader,
      Array.from({ length: fills }, (_, nth) => ({ ...GROWTH, slot: 3 + (nth % 4) })),
    );
    const past = (at: number) => (at === 0 ? before : (happened[at - 1]?.trades ?? before));
    await ingest(trader, past(0), happened.slice(0, -1), true);
    const nets = await netsOf(trader);
    await change((unit) => Promise.resolve(unit.forgetNets([trader])));
    expect((await netsOf(trader)).every(({ net }) => net === null)).toBe(true);
    return { trader, nets, takeNext: () => ingest(trader, past(fills - 1), happened.slice(-1), true) };
  }

  it('are folded in short steps, also while new fills come in, and by two replicas at once', async () => {
    const all = await Promise.all(Array.from({ length: TRADERS_AT_ONCE + 3 }, () => unfolded(4)));
    expect(await foldStored(gateway(0), venue, CURSOR)).toBe(true);
    for (const { takeNext } of all) await takeNext();
    await Promise.all([foldStored(gateway(0), venue, CURSOR), foldStored(gateway(1), venue, CURSOR)]);
    expect(await foldStored(gateway(0), venue, CURSOR)).toBe(false);
    for (const { trader, nets } of all) {
      const now = await netsOf(trader);
      expect(now.slice(0, -1)).toEqual(nets);
      expect(now.at(-1)?.net?.before).toBe(nets.findLast((_, at) => at % 2 === nets.length % 2)?.net?.after);
    }
  });

  it('of one trader are folded in pages', async () => {
    const { trader, nets } = await unfolded(FILLS_AT_ONCE + 20);
    expect(await foldStored(gateway(0), venue, CURSOR)).toBe(false);
    expect(await netsOf(trader)).toEqual(nets);
  });

  it('are folded before they are read', async () => {
    const { trader, nets } = await unfolded(4);
    const fills = await readFolded(gateway(1), venue, () => replicas.stores[1].facade.history.fills(CHAIN, trader, WINDOW));
    expect(fills.map(({ before, after }) => ({ before, after }))).toEqual(nets.map(({ net }) => net));
    expect(await netsOf(trader)).toEqual(nets);
  });

  it('wait until the collaterals are loaded, as fills of blocks that come before that do', async () => {
    const { trader, takeNext } = await unfolded(4);
    const unloaded = {
      ...venue,
      feed: {
        config: () => {
          throw new GatewayError('NOT_READY', { reason: 'no parameters yet' });
        },
      },
    } as unknown as Venue;
    expect(await foldStored(gateway(0), unloaded, CURSOR)).toBeNull();
    await takeNext();
    expect(await foldStored(gateway(0), venue, CURSOR)).toBe(false);
    expect((await netsOf(trader)).every(({ net }) => net !== null)).toBe(true);
  });
});
