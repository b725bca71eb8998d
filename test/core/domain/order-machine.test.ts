import fc from 'fast-check';
import type { DiamondLog } from '../../../core/domain/diamond-log.js';
import type { Requested, Rested } from '../../../core/domain/chain-event.js';
import { foldOrder, NEXT, shapeOf, shapeOfEvent, step, type OrderEvent } from '../../../core/domain/order-machine.js';
import { interpretLogs } from '../../../core/domain/interpret-logs.js';
import { ORDER_REASONS, ORDER_STATUSES, isLive, type Order, CANCEL_REASONS } from '../../../core/domain/order.js';

const order = (changes: Partial<Order> = {}): Order => ({
  trader: '0x0000000000000000000000000000000000000001',
  action: 'open',
  type: 'market',
  pairIndex: 0,
  collateralIndex: 3,
  long: true,
  reduceOnly: false,
  leverage: 10_000n,
  collateralAmount: 100_000_000n,
  sizeCollateral: 1_000_000_000n,
  sizeToken: null,
  price: 1n,
  tp: 0n,
  sl: 0n,
  slippageP: 1000n,
  tradeIndex: null,
  clientId: null,
  status: 'prepared',
  txHash: null,
  expiresAt: 5,
  fill: null,
  reason: null,
  createdAt: 1,
  updatedAt: 1,
  requestedBlock: null,
  ...changes,
});

const fill = { price: 1n, sizeToken: 1n, collateralPriceUsd: null, collateral: 1n, fee: 0n, txHash: '0x01', at: 9, tradeIndex: 0 } as const;
const size = { leverage: 10_000n, collateralAmount: 100_000_000n, sizeCollateral: 1_000_000_000n, sizeToken: null };
const resting = { ...size, price: 1n, tp: 0n, sl: 0n, slippageP: 1000n };
const EVENTS: Readonly<Record<OrderEvent['kind'], OrderEvent>> = {
  requested: { kind: 'requested', at: 9, txHash: '0x01', block: 7n, asked: size },
  rested: { kind: 'rested', at: 9, txHash: '0x01', block: 7n, asked: resting },
  replaced: { kind: 'replaced', at: 9, txHash: '0x02', block: 8n, asked: { ...resting, collateralAmount: 50_000_000n } },
  moved: { kind: 'moved', at: 9, asked: { ...resting, price: 2n, sizeCollateral: 500_000_000n } },
  amended: { kind: 'amended', at: 9, price: 2n, tp: 3n, sl: 4n, slippageP: 5n },
  filled: { kind: 'filled', at: 9, fill },
  refused: { kind: 'refused', at: 9, reason: 'SLIPPAGE' },
  unexplained: { kind: 'unexplained', at: 9, txHash: '0x05' },
  timedOut: { kind: 'timedOut', at: 9 },
  withdrawn: { kind: 'withdrawn', at: 9 },
  expired: { kind: 'expired', at: 9 },
  sent: { kind: 'sent', at: 9, txHash: '0x03' },
  reverted: { kind: 'reverted', at: 9, txHash: '0x04', reason: 'PAUSED' },
  renewed: { kind: 'renewed', at: 9, order: order({ expiresAt: 99, createdAt: 8 }) },
};
const anyEvent = fc.constantFrom(...Object.values(EVENTS));

describe('an order', () => {
  it.each([
    ['prepared', 'requested', 'pending'],
    ['prepared', 'rested', 'open'],
    ['prepared', 'reverted', 'rejected'],
    ['prepared', 'sent', 'prepared'],
    ['prepared', 'expired', 'expired'],
    ['expired', 'requested', 'pending'],
    ['expired', 'rested', 'open'],
    ['expired', 'renewed', 'prepared'],
    ['expired', 'sent', 'expired'],
    ['open', 'replaced', 'open'],
    ['pending', 'filled', 'filled'],
    ['pending', 'refused', 'rejected'],
    ['pending', 'unexplained', 'pending'],
    ['timed_out', 'unexplained', 'pending'],
    ['open', 'unexplained', 'pending'],
    ['pending', 'timedOut', 'timed_out'],
    ['pending', 'withdrawn', 'canceled'],
    ['timed_out', 'filled', 'filled'],
    ['timed_out', 'refused', 'rejected'],
    ['timed_out', 'withdrawn', 'canceled'],
    ['open', 'amended', 'open'],
    ['open', 'moved', 'open'],
    ['open', 'filled', 'filled'],
    ['open', 'withdrawn', 'canceled'],
  ] as const)('that is %s, when %s, becomes %s', (from, kind, to) => {
    expect(step(order({ status: from }), EVENTS[kind])).toMatchObject({ status: to, updatedAt: 9 });
  });

  it('has a later `updatedAt` after every change, also within one second of the chain', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 12 }), (events) => {
        let now = order();
        for (const event of events) {
          const next = step(now, { ...event, at: 1 });
          if (next !== now) expect(next.updatedAt).toBeGreaterThan(now.updatedAt);
          now = next;
        }
      }),
    );
  });

  it('stays the very same object when an event means nothing to it', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ORDER_STATUSES), anyEvent, (status, event) => {
        const before = order({ status });
        const after = step(before, event);
        expect(after === before).toBe(NEXT[status][event.kind] === undefined);
      }),
    );
  });

  it('never leaves a final state, and carries a fill or a reason only where its state says so', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 12 }), (events) => {
        let now = order();
        for (const event of events) {
          const next = step(now, event);
          if (!isLive(now) && now.status !== 'expired') expect(next).toBe(now);
          now = next;
        }
        expect(now.fill !== null).toBe(now.status === 'filled');
        expect(now.reason !== null).toBe(now.status === 'rejected');
      }),
    );
  });

  it('keeps what an amendment says', () => {
    expect(step(order({ status: 'open' }), EVENTS.amended)).toMatchObject({ price: 2n, tp: 3n, sl: 4n, slippageP: 5n });
  });
});

describe('an order and the event that begins it', () => {
  const terms = { pairIndex: 0, collateralIndex: 3, long: true, leverage: 10_000n, collateralAmount: 100_000_000n };
  const event = (changes: object): Requested | Rested =>
    ({ kind: 'requested', action: 'open', tradeIndex: null, terms, ...changes }) as Requested;

  it.each<[string, Partial<Order>, object]>([
    ['a market order', {}, {}],
    ['a limit order', { type: 'limit' }, { kind: 'rested', type: 'limit' }],
    ['a close', { action: 'close', tradeIndex: 5 }, { action: 'close', tradeIndex: 5 }],
    ['a change of leverage', { action: 'leverage', tradeIndex: 5 }, { action: 'leverage', tradeIndex: 5 }],
  ])('have the same shape, which no other has: %s', (_what, ofOrder, ofEvent) => {
    const shape = shapeOf(order(ofOrder));
    expect(shapeOfEvent(event(ofEvent))).toBe(shape);
    expect(shapeOfEvent(event({ ...ofEvent, tradeIndex: 6, terms: { ...terms, long: false } }))).not.toBe(shape);
  });
});

/** The number of the contract for each reason it can have; one that clients know no name of is OTHER. */
const REFUSALS: [string, number][] = [
  ...ORDER_REASONS.flatMap((reason): [string, number][] =>
    reason === 'NONE' || reason === 'OTHER' ? [] : [[reason, CANCEL_REASONS.indexOf(reason)]],
  ),
  ['OTHER', CANCEL_REASONS.indexOf('COUNTER_TRADE_CANCELED')],
  ['OTHER', CANCEL_REASONS.length],
];

const interpreted = (name: string, args: object): ReturnType<typeof interpretLogs> => {
  const log = { name, args, place: { txHash: '0x01', blockNumber: 7n, logIndex: 0, at: 9 } } as unknown as DiamondLog;
  return interpretLogs({ logs: [log], tradeOf: () => null, precisionOf: () => null });
};

describe('the reason of a refused order', () => {
  it.each(REFUSALS)('is %s where the contract says %i', (reason, cancelReason) => {
    const { trader } = order();
    const events = interpreted('MarketOpenCanceled', { orderId: { user: trader, index: 0 }, trader, pairIndex: 0n, cancelReason });
    expect(events).toHaveLength(1);
    const [event] = events;
    expect(event && foldOrder(order({ status: 'pending' }), event)).toMatchObject({ status: 'rejected', reason, fill: null });
  });

  it('is taken from a change of leverage that was not made, with the figures that the contract computed', () => {
    const { trader } = order();
    const events = interpreted('LeverageUpdateExecuted', {
      orderId: { user: trader, index: 4 },
      index: 2n,
      cancelReason: CANCEL_REASONS.indexOf('LIQ_REACHED'),
      values: { newEffectiveLeverage: 90_000n, newLiqPrice: 0n },
    });
    expect(events).toMatchObject([
      { kind: 'refused', reason: 'LIQ_REACHED', tradeIndex: 2, figures: { leverage: 90_000n, liquidationPrice: null } },
    ]);
  });
});
