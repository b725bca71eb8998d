import fc from 'fast-check';
import type { Executed, PositionFound, TradeFigures } from '../../../core/domain/chain-event.js';
import { beginning, foldNet, holding, openingsOf, type SizeEvent } from '../../../core/domain/net-position.js';
import { entryBase } from '../../../core/domain/pricing/size.js';

const E18 = 10n ** 18n;
const USDC = { index: 3, precision: 10n ** 6n, priceUsd: 99_980_000n };
const TRADER = '0x1';
const FIGURES: TradeFigures = {
  ...{ pairIndex: 0, collateralIndex: USDC.index, long: true, leverage: 10_000n, collateralAmount: 10n ** 8n, openPrice: 10n ** 13n },
  ...{ tp: 0n, sl: 0n, sizeToken: E18, isCounterTrade: false },
};

const placeAt = (block: number) => ({ blockNumber: BigInt(block), blockHash: '0x', txHash: '0x', logIndex: 0, at: block }) as const;
const found = (block: number, more: Partial<PositionFound> = {}): PositionFound => ({
  ...{ kind: 'found', trader: TRADER, orderKey: null, tradeIndex: 0, place: { ...placeAt(block), logIndex: null } },
  ...{ trade: FIGURES, isOpen: true, slippageP: 0n, openedBlock: 0n, entryPriceUsd: 10n ** 8n, ...more },
});
const executed = (block: number, more: Partial<Executed> = {}): Executed => ({
  ...{ kind: 'executed', action: 'open', trader: TRADER, orderKey: null, tradeIndex: 1, place: placeAt(block), terms: FIGURES, price: 1n },
  ...{ oraclePrice: 1n, sizeCollateral: 10n ** 9n, sizeToken: E18, collateral: 1n, grossPnl: 0n, netPnl: 0n, fee: 0n },
  ...{ collateralPriceUsd: 10n ** 8n, entryPriceUsd: 10n ** 8n, after: FIGURES, ...more },
});
const closed = (block: number, more: Partial<Executed> = {}): Executed => executed(block, { action: 'close', after: null, ...more });

const fromScratch = (events: readonly SizeEvent[]) => foldNet(beginning(openingsOf(events, [USDC])), events, [USDC]);
const netsOf = (events: readonly SizeEvent[]) => [...fromScratch(events).fills.values()].map(({ before, after }) => [before, after]);

describe('a trade that was open before the index began', () => {
  it('counts in fills that were stored before it was found', () => {
    expect(netsOf([executed(1), found(5)])).toEqual([[E18, 2n * E18]]);
  });

  it('counts from the block in which it was opened', () => {
    const opened = found(5, { openedBlock: 2n });
    expect(netsOf([executed(1), executed(3, { tradeIndex: 2 }), opened])).toEqual([
      [0n, E18],
      [2n * E18, 3n * E18],
    ]);
  });

  it('has the size that its first execution says it had, where the node found it as it is at the head', () => {
    const atHead = found(1, { trade: { ...FIGURES, sizeToken: E18 / 4n } });
    const decrease = executed(4, {
      action: 'decrease',
      tradeIndex: 0,
      sizeToken: (E18 * 3n) / 4n,
      after: { ...FIGURES, sizeToken: E18 / 4n },
    });
    expect(netsOf([atHead, executed(2), decrease])).toEqual([
      [E18, 2n * E18],
      [2n * E18, (E18 * 5n) / 4n],
    ]);
  });

  it('is known by its close alone', () => {
    expect(netsOf([executed(1), closed(2, { tradeIndex: 7 })])).toEqual([
      [E18, 2n * E18],
      [2n * E18, E18],
    ]);
  });

  it('from before the contract stored tokens and prices counts by its opening, as a position does', () => {
    const { entryPriceUsd: _, ...unpriced } = found(1, { trade: { ...FIGURES, sizeToken: 0n } });
    const base = entryBase({ ...FIGURES, sizeToken: 0n }, USDC);
    expect(base).toBeGreaterThan(0n);
    expect(netsOf([unpriced, executed(2)])).toEqual([[base, base + E18]]);
  });

  it('of a collateral that is not known counts nothing', () => {
    const strange = found(1, { trade: { ...FIGURES, sizeToken: 0n, collateralIndex: 99 } });
    expect(netsOf([strange, executed(2)])).toEqual([[0n, E18]]);
  });
});

it('a transaction that cannot be read changes the position between two fills, and not before it', () => {
  const reread = found(2, { tradeIndex: 1, isReread: true, trade: { ...FIGURES, sizeToken: 3n * E18 } });
  const gone = found(4, { tradeIndex: 1, isReread: true, isOpen: false });
  const others = [3, 5].map((block) => executed(block, { tradeIndex: block }));
  expect(netsOf([executed(1), reread, ...others.slice(0, 1), gone, ...others.slice(1)])).toEqual([
    [0n, E18],
    [3n * E18, 4n * E18],
    [E18, 2n * E18],
  ]);
});

it('fills of other markets do not count, and shorts are negative', () => {
  const short = { ...FIGURES, long: false, pairIndex: 1 };
  expect(netsOf([executed(1), executed(2, { tradeIndex: 2, terms: short, after: short })])).toEqual([
    [0n, E18],
    [0n, -E18],
  ]);
});

it('an execution that contradicts the known size of its trade says so', () => {
  const known = new Map([[1, { ...FIGURES, isOpen: true, slippageP: 0n, openedBlock: 1n, openedAt: 1, closedAt: null }]]);
  const decrease = executed(4, { action: 'decrease', sizeToken: E18, after: FIGURES });
  expect(foldNet(holding(known, [USDC]), [decrease], [USDC]).contradicted).toEqual([1]);
});

const event = fc.record({ trade: fc.nat({ max: 3 }), size: fc.bigInt({ min: 1n, max: E18 }), cents: fc.bigInt({ min: -100n, max: 100n }) });

/** Trades that are opened, grow and are closed in turn. */
function eventsOf(drawn: readonly { trade: number; size: bigint; cents: bigint }[]): SizeEvent[] {
  const open = new Map<number, { index: number; size: bigint; price: bigint; steps: number }>();
  return drawn.map(({ trade, size, cents }, at): SizeEvent => {
    const own = open.get(trade);
    const figures = (sizeToken: bigint): TradeFigures => ({ ...FIGURES, pairIndex: trade % 2, long: trade < 2, sizeToken });
    if (own?.steps === 2) {
      open.delete(trade);
      return closed(at, { tradeIndex: own.index, terms: figures(own.size), sizeToken: own.size, entryPriceUsd: own.price });
    }
    const next = {
      index: own?.index ?? at,
      size: (own?.size ?? 0n) + size,
      price: own?.price ?? 10n ** 8n + cents,
      steps: (own?.steps ?? 0) + 1,
    };
    open.set(trade, next);
    const common = {
      tradeIndex: next.index,
      terms: figures(next.size),
      sizeToken: size,
      after: figures(next.size),
      entryPriceUsd: next.price,
    };
    return executed(at, { ...common, action: own ? 'increase' : 'open', collateralPriceUsd: next.price });
  });
}

it('folding block by block onto the open positions equals folding from the beginning, and fills chain within each market', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 2, maxLength: 40 }), fc.nat(), (drawn, cut) => {
      const events = eventsOf(drawn);
      const whole = fromScratch(events);
      expect(whole.contradicted).toEqual([]);
      const middle = cut % events.length;
      const first = fromScratch(events.slice(0, middle));
      const open = new Map([...first.holdings.positions].filter(([, { isOpen }]) => isOpen));
      const second = foldNet(holding(open, [USDC]), events.slice(middle), [USDC]);
      expect([...first.fills, ...second.fills]).toEqual([...whole.fills]);
      const last = new Map<number, bigint>();
      for (const [{ kind, ...rest }, { before, after }] of whole.fills) {
        if (kind !== 'executed' || !('terms' in rest)) continue;
        expect(before).toBe(last.get(rest.terms.pairIndex) ?? 0n);
        last.set(rest.terms.pairIndex, after);
      }
    }),
  );
});
