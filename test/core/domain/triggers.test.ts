import fc from 'fast-check';
import { LEVELS, type ChainEvent, type Level } from '../../../core/domain/chain-event.js';
import {
  botKey,
  foldTriggers,
  type AskedTrigger,
  type FoldedTriggers,
  type TriggerFacts,
  type TriggerPlace,
} from '../../../core/domain/triggers.js';

const TRADER = '0xt';
type Hex = `0x${string}`;
type Linked = TriggerFacts['events'][number];

const at = (block: number, txHash: Hex | null = null) => ({
  blockNumber: BigInt(block),
  blockHash: `0x${block}` as const,
  txHash,
  logIndex: 0,
  at: block * 1000,
});
const terms = (tp = 0n, sl = 0n) => ({
  ...{ pairIndex: 0, collateralIndex: 0, long: true, leverage: 1n, collateralAmount: 1n, openPrice: 100n, tp, sl },
  ...{ sizeToken: 1n, isCounterTrade: false },
});
const link = (event: object, orderId: bigint | null = null): Linked => ({ event: event as ChainEvent, orderId });

const edited = (block: number, tradeIndex: number, field: Level, value: bigint, txHash: Hex | null = null): Linked =>
  link({ kind: 'edited', trader: TRADER, orderKey: null, tradeIndex, field, value, place: at(block, txHash) });
const executed = (
  block: number,
  tradeIndex: number,
  action: string,
  after: object | null,
  changes: object = {},
  orderId: bigint | null = null,
): Linked => link({ kind: 'executed', trader: TRADER, orderKey: null, tradeIndex, action, after, place: at(block), ...changes }, orderId);
const rested = (block: number, index: number, tp: bigint, sl: bigint, orderId: bigint | null = null): Linked =>
  link({ kind: 'rested', trader: TRADER, orderKey: `resting:${index}`, tradeIndex: null, terms: terms(tp, sl), place: at(block) }, orderId);
const amended = (block: number, index: number, tp: bigint, sl: bigint, txHash: Hex | null = null): Linked =>
  link({
    kind: 'amended',
    trader: TRADER,
    orderKey: `resting:${index}`,
    tradeIndex: null,
    openPrice: 1n,
    tp,
    sl,
    slippageP: 1n,
    place: at(block, txHash),
  });

const fold = (events: readonly Linked[], more: Partial<TriggerFacts> = {}): FoldedTriggers =>
  foldTriggers({ standing: [], events, asked: new Map(), withOpening: new Map(), ...more });
const askedBy = (...rows: [Hex, bigint, Level, TriggerPlace][]): TriggerFacts['asked'] => {
  const asked = new Map<Hex, AskedTrigger[]>();
  for (const [hash, oid, kind, place] of rows) asked.set(hash, [...(asked.get(hash) ?? []), { key: botKey(oid, 1), kind, place }]);
  return asked;
};
const standing = ({ standing: found }: FoldedTriggers) => found.map(({ key, place, price }) => [key, place, price]);
const ends = ({ rows }: FoldedTriggers) => Object.fromEntries(rows.map(({ key, end }) => [key, end?.cause ?? 'stands']));

const opened = executed(1, 5, 'open', terms());

describe('a trigger of an open trade', () => {
  it('is the order’s whose transaction set it last, whatever the price', () => {
    const asked = askedBy(['0xa', 10n, 'sl', 'trade:5'], ['0xb', 11n, 'sl', 'trade:5']);
    const folded = fold([opened, edited(2, 5, 'sl', 55n, '0xa'), edited(3, 5, 'sl', 55n, '0xb')], { asked });
    expect(standing(folded)).toEqual([['bot/11/1', 'trade:5', 55n]]);
    expect(ends(folded)).toEqual({ 'bot/10/1': 'replaced', 'bot/11/1': 'stands' });
  });

  it('stays the bot’s where another client sets the same price again, and not where it sets another one', () => {
    const asked = askedBy(['0xa', 10n, 'sl', 'trade:5']);
    const set = [opened, edited(2, 5, 'sl', 55n, '0xa')];
    expect(standing(fold([...set, edited(3, 5, 'sl', 55n, '0xelse')], { asked }))).toEqual([['bot/10/1', 'trade:5', 55n]]);
    expect(standing(fold([...set, edited(3, 5, 'sl', 56n, '0xelse')], { asked }))).toEqual([['other/trade:5/sl/56', 'trade:5', 56n]]);
  });

  it('is a native order’s where that has set it, by the log', () => {
    const guarded = link(
      { kind: 'guarded', trader: TRADER, orderKey: 'sl:5', tradeIndex: 5, level: 'sl', terms: terms(), slippageP: 1n, place: at(3, '0xn') },
      77n,
    );
    const folded = fold([opened, edited(2, 5, 'sl', 55n, '0xa'), edited(3, 5, 'sl', 55n, '0xn'), guarded], {
      asked: askedBy(['0xa', 10n, 'sl', 'trade:5']),
    });
    expect(standing(folded)).toEqual([['native/77', 'trade:5', 55n]]);
  });

  it('follows the price to which the contract moves it, and ends where the contract drops it', () => {
    const asked = askedBy(['0xa', 10n, 'sl', 'trade:5']);
    const set = [opened, edited(2, 5, 'sl', 55n, '0xa')];
    const moved = fold([...set, executed(3, 5, 'increase', terms(0n, 60n))], { asked });
    expect(standing(moved)).toEqual([['bot/10/1', 'trade:5', 60n]]);
    expect(ends(fold([...set, executed(3, 5, 'decrease', terms())], { asked }))).toEqual({ 'bot/10/1': 'removed' });
  });

  it('follows a move in a transaction that cannot be read, and ends where that closed its trade', () => {
    const asked = askedBy(['0xa', 10n, 'sl', 'trade:5']);
    const set = [opened, edited(2, 5, 'sl', 55n, '0xa')];
    const reread = (isOpen: boolean) =>
      link({ kind: 'found', trader: TRADER, orderKey: null, tradeIndex: 5, isReread: true, isOpen, trade: terms(0n, 60n), place: at(3) });
    expect(standing(fold([...set, reread(true)], { asked }))).toEqual([['bot/10/1', 'trade:5', 60n]]);
    expect(ends(fold([...set, reread(false)], { asked }))).toEqual({ 'bot/10/1': 'gone' });
  });

  it.each([
    ['tp', { 'bot/10/1': 'tp', 'bot/11/1': 'tp' }],
    ['liquidation', { 'bot/10/1': 'liquidation', 'bot/11/1': 'liquidation' }],
    ['close', { 'bot/10/1': 'close', 'bot/11/1': 'close' }],
  ])('ends with the execution that closed its trade: %s', (action, expected) => {
    const asked = askedBy(['0xa', 10n, 'tp', 'trade:5'], ['0xb', 11n, 'sl', 'trade:5']);
    const set = [opened, edited(2, 5, 'tp', 155n, '0xa'), edited(3, 5, 'sl', 55n, '0xb')];
    expect(ends(fold([...set, executed(4, 5, action, null)], { asked }))).toEqual(expected);
    expect(ends(fold([...set, executed(4, 5, 'withdraw', null)], { asked }))).toEqual({ 'bot/10/1': 'stands', 'bot/11/1': 'stands' });
  });
});

describe('a trigger that came with an opening', () => {
  const withOpening = new Map([[7n, LEVELS.map((kind, at) => ({ key: botKey(20n + BigInt(at), 1), kind }))]]);

  it('is its child’s, on the resting order and on the trade that it opens, whatever index that has', () => {
    const events = [rested(1, 3, 155n, 55n, 7n), executed(2, 9, 'open', terms(155n, 56n), { orderKey: 'resting:3' }, 7n)];
    expect(standing(fold(events.slice(0, 1), { withOpening }))).toEqual([
      ['bot/20/1', 'resting:3', 155n],
      ['bot/21/1', 'resting:3', 55n],
    ]);
    expect(standing(fold(events, { withOpening }))).toEqual([
      ['bot/20/1', 'trade:9', 155n],
      ['bot/21/1', 'trade:9', 56n],
    ]);
  });

  it('is its child’s where a market order opens at once', () => {
    const events = [executed(2, 9, 'open', terms(0n, 55n), { orderKey: 'request:1' }, 7n)];
    expect(standing(fold(events, { withOpening }))).toEqual([['bot/21/1', 'trade:9', 55n]]);
  });

  it('is another order’s once that has changed it on the order that rests, and no other kind’s', () => {
    const folded = fold([rested(1, 3, 155n, 55n, 7n), amended(2, 3, 155n, 50n, '0xc')], {
      withOpening,
      asked: askedBy(['0xc', 30n, 'sl', 'resting:3']),
    });
    expect(standing(folded)).toEqual([
      ['bot/20/1', 'resting:3', 155n],
      ['bot/30/1', 'resting:3', 50n],
    ]);
  });

  it('goes on where its order was replaced in one transaction, which is two logs', () => {
    const first = link({ kind: 'withdrawn', trader: TRADER, orderKey: 'resting:3', tradeIndex: null, place: at(2) }, 0n);
    const second = link(
      {
        kind: 'replaced',
        trader: TRADER,
        orderKey: 'resting:4',
        formerKey: 'resting:3',
        tradeIndex: null,
        terms: terms(155n, 0n),
        place: at(2),
      },
      7n,
    );
    expect(standing(fold([rested(1, 3, 155n, 0n, 7n), first, second], { withOpening }))).toEqual([['bot/20/1', 'resting:4', 155n]]);
  });

  it('stands on the trade that a market order made in a transaction that cannot be read, once the operator has settled it', () => {
    const found = link({ kind: 'found', trader: TRADER, orderKey: null, tradeIndex: 9, isOpen: true, trade: terms(0n, 55n), place: at(2) });
    const event = {
      kind: 'settled',
      trader: TRADER,
      orderKey: 'request:1',
      tradeIndex: null,
      fill: { tradeIndex: 9 },
      settledAt: 1,
      place: at(3),
    };
    expect(standing(fold([found, link(event, 7n)], { withOpening }))).toEqual([['bot/21/1', 'trade:9', 55n]]);
  });

  it('ends with its order', () => {
    const withdrawn = link({ kind: 'withdrawn', trader: TRADER, orderKey: 'resting:3', tradeIndex: null, place: at(2) });
    expect(ends(fold([rested(1, 3, 155n, 0n, 7n), withdrawn], { withOpening }))).toEqual({ 'bot/20/1': 'withdrawn' });
  });

  it('goes to the trade that was found after a transaction that cannot be read, once the operator has settled its order', () => {
    const found = link({
      kind: 'found',
      trader: TRADER,
      orderKey: null,
      tradeIndex: 9,
      isOpen: true,
      trade: terms(155n, 0n),
      place: at(2),
    });
    const settled = link({
      kind: 'settled',
      trader: TRADER,
      orderKey: 'resting:3',
      tradeIndex: null,
      fill: { tradeIndex: 9 },
      settledAt: 1,
      place: at(3),
    });
    expect(standing(fold([rested(1, 3, 155n, 0n, 7n), found, settled], { withOpening }))).toEqual([['bot/20/1', 'trade:9', 155n]]);
  });
});

describe('any history', () => {
  const price = fc.constantFrom(0n, 50n, 55n, 60n);
  const index = fc.constantFrom(1, 2);
  const draw = fc.array(
    fc.record({
      what: fc.constantFrom('open', 'edit', 'resize', 'close', 'rest', 'amend', 'fill', 'withdraw'),
      index,
      kind: fc.constantFrom(...LEVELS),
      tp: price,
      sl: price,
      isOurs: fc.boolean(),
    }),
    { maxLength: 24 },
  );
  type Drawn = typeof draw extends fc.Arbitrary<readonly (infer One)[]> ? One : never;

  function toEvent({ what, index: on, kind, tp, sl }: Drawn, block: number): Linked {
    const hash: Hex = `0x${block}`;
    switch (what) {
      case 'open':
        return executed(block, on, 'open', terms(tp, sl), { orderKey: 'request:1' });
      case 'edit':
        return edited(block, on, kind, tp, hash);
      case 'resize':
        return executed(block, on, 'increase', terms(tp, sl));
      case 'close':
        return executed(block, on, kind, null);
      case 'rest':
        return rested(block, on, tp, sl, BigInt(block));
      case 'amend':
        return amended(block, on, tp, sl, hash);
      case 'fill':
        return executed(block, on, 'open', terms(tp, sl), { orderKey: `resting:${on}` });
      default:
        return link({ kind: 'withdrawn', trader: TRADER, orderKey: `resting:${on}`, tradeIndex: null, place: at(block) });
    }
  }

  /** Every second change and opening is a bot's. */
  function factsOf(drawn: readonly Drawn[]): Pick<TriggerFacts, 'events' | 'asked' | 'withOpening'> {
    const own = drawn.flatMap((one, block) => (one.isOurs ? [{ ...one, block }] : []));
    const asked = askedBy(
      ...own.map(({ what, kind, index: on, block }): [Hex, bigint, Level, TriggerPlace] => [
        `0x${block}`,
        BigInt(100 + block),
        kind,
        what === 'edit' ? `trade:${on}` : `resting:${on}`,
      ]),
    );
    const withOpening = new Map(
      own.map(({ block }) => [BigInt(block), LEVELS.map((kind, nth) => ({ key: botKey(BigInt(1000 + 2 * block + nth), 1), kind }))]),
    );
    return { events: drawn.map(toEvent), asked, withOpening };
  }

  it('gives the same whether it is folded at once or from any base on', () => {
    fc.assert(
      fc.property(draw, fc.nat(24), (drawn, cut) => {
        const { events, ...facts } = factsOf(drawn);
        const whole = fold(events, facts);
        const base = fold(events.slice(0, cut), facts);
        const rest = fold(events.slice(cut), { ...facts, standing: base.standing });
        expect(rest.standing).toEqual(whole.standing);
        const known = new Map(base.rows.map((row) => [row.key, row]));
        // As rows are stored: what came before the base is kept.
        for (const row of rest.rows)
          known.set(row.key, {
            ...row,
            setAt: row.setAt ?? known.get(row.key)?.setAt ?? null,
            priceAt: row.priceAt ?? known.get(row.key)?.priceAt ?? null,
            changedBlock: row.changedBlock ?? known.get(row.key)?.changedBlock ?? null,
          });
        expect(known).toEqual(new Map(whole.rows.map((row) => [row.key, row])));
      }),
    );
  });

  it('has at most one trigger of a kind at a place, with a price, and a row for each that stands', () => {
    fc.assert(
      fc.property(draw, (drawn) => {
        const { events, ...facts } = factsOf(drawn);
        const folded = fold(events, facts);
        const places = folded.standing.map(({ place, kind }) => `${place} ${kind}`);
        expect(new Set(places).size).toBe(places.length);
        expect(folded.standing.every((trigger) => trigger.price > 0n)).toBe(true);
        const open = folded.rows.filter(({ end }) => end === null).map(({ key }) => key);
        expect(open.sort()).toEqual(folded.standing.map(({ key }) => key).sort());
      }),
    );
  });
});
