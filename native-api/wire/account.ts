import { z } from 'zod';
import { MARK_SOURCES } from '../../core/account/list-positions.js';
import { FILL_ACTIONS } from '../../core/domain/chain-event.js';
import { ORDER_REASONS, ORDER_STATUSES, ORDER_TYPES } from '../../core/domain/order.js';
import type { Hex } from '../../core/types.js';
import { AnyAddress, DecimalString, EpochMs } from './codec.js';
import { AgentRecord, MasterTransaction } from './agents.js';
import { READINESS_CHECKS } from '../../core/access/trader-readiness.js';
import { NOTIFICATION_KINDS } from '../../core/notifications/list-notifications.js';

export const Id = z.string().regex(/^[1-9]\d{0,15}$/);
export const MarketSymbol = z.string().regex(/^[A-Z0-9.]{1,15}\/[A-Z0-9]{1,10}$/);
export const Side = z.enum(['long', 'short']);
export const TxHash = z.codec(
  z.string().regex(/^0x[0-9a-fA-F]*$/),
  z.custom<Hex>((value) => typeof value === 'string'),
  { decode: (text) => text as Hex, encode: (hex) => hex },
);

export const AccountPath = z.object({ address: AnyAddress });
/** Any text: an invalid id names no order. */
export const OrderPath = z.object({ id: z.string() });

const WholeNumber = z
  .string()
  .regex(/^\d{1,4}$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int().min(1).max(500));
export const PageRequest = z.strictObject({ cursor: z.string().max(200).optional(), limit: WholeNumber.default(50) });

export const Fill = z
  .object({
    price: DecimalString,
    size: DecimalString,
    collateral: DecimalString,
    feeCollateral: DecimalString,
    txHash: TxHash,
    timestamp: EpochMs,
    positionId: Id.nullable(),
  })
  .meta({ id: 'Fill' });

export const Order = z
  .object({
    id: Id,
    trader: AnyAddress,
    market: MarketSymbol,
    side: Side,
    type: z.enum(ORDER_TYPES),
    size: DecimalString,
    price: DecimalString.nullable(),
    leverage: DecimalString,
    collateral: z.string(),
    sl: DecimalString.nullable(),
    tp: DecimalString.nullable(),
    reduceOnly: z.boolean(),
    slippage: DecimalString,
    clientId: z.string().nullable(),
    status: z.enum(ORDER_STATUSES),
    txHash: TxHash.nullable(),
    expiresAt: EpochMs.nullable(),
    fill: Fill.nullable(),
    reason: z.enum(ORDER_REASONS).nullable(),
    createdAt: EpochMs,
    updatedAt: EpochMs,
  })
  .meta({ id: 'Order' });

export const Position = z
  .object({
    id: Id,
    trader: AnyAddress,
    market: MarketSymbol,
    pairIndex: z.int(),
    side: Side,
    size: DecimalString,
    collateral: DecimalString,
    collateralSymbol: z.string(),
    leverage: DecimalString,
    entryPrice: DecimalString,
    markPrice: DecimalString,
    markSource: z.enum(MARK_SOURCES).meta({
      description:
        '`live`: the price of now. `last`: the last one there was. `entry`: there never was a price, so markPrice is entryPrice and unrealizedPnl is 0.',
    }),
    liquidationPrice: DecimalString.meta({
      description: '0 where it cannot be reckoned: without a price, or without the parameters of the market.',
    }),
    unrealizedPnl: DecimalString,
    unrealizedPnlPercent: DecimalString,
    realizedPnl: DecimalString.meta({
      description:
        'In collateral: what closed parts came to after their fees, and profit that was withdrawn; the position itself is still open.',
    }),
    fundingFee: DecimalString,
    borrowingFee: DecimalString,
    sl: DecimalString,
    tp: DecimalString,
    openedAtBlock: z.int(),
    marginMode: z.literal('isolated'),
  })
  .meta({ id: 'Position' });

export const FillHistoryEntry = z
  .object({
    id: z.int(),
    market: MarketSymbol.nullable(),
    action: z.enum(FILL_ACTIONS),
    side: Side,
    price: DecimalString,
    size: DecimalString,
    collateral: DecimalString,
    leverage: DecimalString,
    pnl: DecimalString,
    timestamp: EpochMs,
    txHash: TxHash,
    positionId: Id,
  })
  .meta({ id: 'FillHistoryEntry' });

export const Account = z
  .object({
    address: AnyAddress,
    balances: z
      .array(
        z.object({
          collateral: z.string(),
          balance: DecimalString,
          allowance: DecimalString,
          inOrders: DecimalString.meta({
            description:
              'Collateral that has left the wallet for resting orders and for requests that were neither executed nor taken back: openings, size increases and added margin. It is in no position, and comes back unless they are executed.',
          }),
        }),
      )
      .meta({ description: 'All amounts are read at one block.' }),
    feeTierMultiplier: DecimalString.nullable(),
    referrer: AnyAddress.nullable(),
    agents: z.array(AgentRecord),
  })
  .meta({ id: 'Account' });

export const OrderList = z.object({ data: z.array(Order) }).meta({ id: 'OrderList' });
export const PositionList = z.object({ data: z.array(Position) }).meta({ id: 'PositionList' });
export const OrderPage = z.object({ data: z.array(Order), nextCursor: z.string().nullable() }).meta({ id: 'OrderPage' });
export const FillPage = z.object({ data: z.array(FillHistoryEntry), nextCursor: z.string().nullable() }).meta({ id: 'FillPage' });

const Line = z.object({
  check: z.enum(READINESS_CHECKS),
  ok: z.boolean(),
  detail: z.string(),
  fix: z.object({ step: z.string(), transaction: MasterTransaction.nullable() }).nullable(),
});

export const TraderReadiness = z
  .object({
    address: AnyAddress,
    trader: AnyAddress,
    ready: z.object({ native: z.boolean(), facade: z.boolean() }),
    delegate: AnyAddress.nullable().meta({ description: 'The trading delegate on chain: the one address that trades for the trader.' }),
    agents: z.array(AgentRecord).meta({ description: 'Agents that are neither revoked nor expired, as `getAgent` shows them.' }),
    lines: z.array(Line),
  })
  .meta({ id: 'TraderReadiness' });

export const ReadinessPath = z.object({ address: AnyAddress });

/** At most 30 digits before the point and 18 after it: no token needs more, and every amount fits the contract. */
export const ReadinessQuery = z.strictObject({
  allowance: z
    .string()
    .regex(/^(?:unlimited|(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,18})?)$/, 'must be an amount such as 250.5, or unlimited')
    .optional(),
});

const NotificationItem = z
  .object({
    id: z.int(),
    kind: z.enum(NOTIFICATION_KINDS),
    title: z.string(),
    body: z.string(),
    market: z.string().nullable(),
    orderId: z.string().nullable(),
    createdAt: EpochMs,
  })
  .meta({ id: 'Notification' });

/** This endpoint has its own error shape, for compatibility with older clients. */
export const NotificationsReply = z.union([
  z.object({ success: z.literal(true), notifications: z.array(NotificationItem) }).meta({ id: 'Notifications' }),
  z.object({ success: z.literal(false), error: z.string(), message: z.string() }).meta({ id: 'NotificationsError' }),
]);

export const DismissPath = z.object({
  address: z.string(),
  id: z.string().regex(/^[1-9]\d{0,15}$/, 'must be the id of a notification'),
});
export const Dismissed = z.object({ success: z.literal(true) }).meta({ id: 'Dismissed' });
