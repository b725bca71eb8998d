import { z } from 'zod';
import { ORDER_REASONS, ORDER_STATUSES } from '../../core/domain/order.js';
import { DISAGREEMENTS } from '../../core/trading/explain-refusal.js';
import { STEPS } from '../../core/trading/order-timeline.js';
import { DecimalString, EpochMs } from './codec.js';
import { FillHistoryEntry, Id, MarketSymbol, Order, Side, TxHash } from './account.js';
import { AgentRecord } from './agents.js';

const Cursor = z.int().positive();

export const EventsRequest = z.strictObject({
  after: z
    .string()
    .regex(/^(?:0|[1-9]\d{0,14})$/, 'must be a cursor of this journal, or 0')
    .transform(Number)
    .default(0),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(500))
    .default(100),
});

/** A position as events describe it; current figures are in the list of positions. */
export const JournalPosition = z
  .object({
    id: Id,
    market: MarketSymbol,
    pairIndex: z.int(),
    side: Side,
    size: DecimalString,
    collateral: DecimalString,
    collateralSymbol: z.string(),
    leverage: DecimalString,
    entryPrice: DecimalString,
    sl: DecimalString,
    tp: DecimalString,
    isOpen: z.boolean(),
    openedAtBlock: z.int(),
  })
  .meta({ id: 'JournalPosition' });

/** Profit withdrawn from a position that stays open; in no list of fills, because nothing was traded. */
export const Withdrawal = z
  .object({
    id: z.int(),
    positionId: Id,
    market: MarketSymbol,
    collateralSymbol: z.string(),
    amount: DecimalString.describe('In collateral.'),
    price: DecimalString.describe("The oracle's."),
    timestamp: EpochMs,
    txHash: TxHash,
  })
  .meta({ id: 'Withdrawal' });

export const Correction = z
  .discriminatedUnion('of', [
    z.object({ of: z.literal('order'), id: Id, now: Order.nullable() }),
    z.object({ of: z.literal('fill'), id: z.int(), now: z.null() }),
    z.object({ of: z.literal('withdrawal'), id: z.int(), now: z.null() }),
    z.object({ of: z.literal('position'), id: Id, now: JournalPosition.nullable() }),
  ])
  .meta({ id: 'Correction' });

const event = <Kind extends string, Data extends z.ZodType>(kind: Kind, data: Data) =>
  z.object({ cursor: Cursor, kind: z.literal(kind), at: EpochMs, data });

export const JournalEvent = z
  .discriminatedUnion('kind', [
    event('order', Order).extend({
      note: z.string().nullable().describe('What happened to its record, such as lost commits; null as a rule.'),
    }),
    event('fill', FillHistoryEntry),
    event('withdrawal', Withdrawal),
    event('position', JournalPosition),
    event('agent', AgentRecord),
    event('correction', Correction),
  ])
  .meta({ id: 'JournalEvent' });

export const EventPage = z.object({ data: z.array(JournalEvent), nextCursor: Cursor.nullable() }).meta({ id: 'EventPage' });

const TimelineStep = z
  .object({
    step: z.enum(STEPS),
    at: EpochMs.describe("Of the block where there is one, else of this service's clock."),
    seenAt: EpochMs.nullable().describe('When this service saw it; null where there was no event of its own.'),
    sincePreviousMs: z.int().nonnegative(),
    sinceStartMs: z.int().nonnegative(),
    block: z.int().nullable(),
    txHash: TxHash.nullable(),
    note: z.string().nullable().describe('What happened, where the name of the step does not say it.'),
    isTakenBack: z.boolean().describe('A reorganisation undid it.'),
  })
  .meta({ id: 'TimelineStep' });

export const Refusal = z
  .object({
    reason: z.enum(ORDER_REASONS),
    quantity: z.enum(DISAGREEMENTS).nullable().describe('What was compared; `positionSize` is in collateral.'),
    actual: DecimalString.nullable(),
    bound: DecimalString.nullable(),
    oraclePrice: DecimalString.nullable(),
    isEstimate: z.boolean().describe("One of the two was computed with the market's current parameters: the contract does not report it."),
  })
  .meta({ id: 'Refusal' });

export const OrderTimeline = z
  .object({
    id: Id,
    status: z.enum(ORDER_STATUSES).nullable(),
    steps: z.array(TimelineStep),
    refusal: Refusal.nullable(),
    repeats: z.array(Id).describe('Orders that came of the same transaction data being mined again.'),
    repeatOf: Id.nullable(),
  })
  .meta({ id: 'OrderTimeline' });
