import { z } from 'zod';
import { MARK_SOURCES } from '../../core/account/list-positions.js';
import { FILL_ACTIONS } from '../../core/domain/chain-event.js';
import { ORDER_REASONS, ORDER_STATUSES, ORDER_TYPES } from '../../core/domain/order.js';
import type { Hex } from '../../core/types.js';
import { DecimalString, EpochMs } from './schema.js';
import { AgentRecord, AnyAddress } from './agents.js';

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
    balances: z.array(z.object({ collateral: z.string(), balance: DecimalString, allowance: DecimalString })),
    feeTierMultiplier: DecimalString.nullable(),
    referrer: AnyAddress.nullable(),
    agents: z.array(AgentRecord),
  })
  .meta({ id: 'Account' });

export const OrderList = z.object({ data: z.array(Order) }).meta({ id: 'OrderList' });
export const PositionList = z.object({ data: z.array(Position) }).meta({ id: 'PositionList' });
export const OrderPage = z.object({ data: z.array(Order), nextCursor: z.string().nullable() }).meta({ id: 'OrderPage' });
export const FillPage = z.object({ data: z.array(FillHistoryEntry), nextCursor: z.string().nullable() }).meta({ id: 'FillPage' });
