import { z } from 'zod';
import { isDecimal, type Decimal } from '../../core/domain/decimal.js';
import { SESSIONS } from '../../core/domain/market.js';
import { ORDER_REASONS, ORDER_STATUSES, ORDER_TYPES } from '../../core/domain/order.js';
import { AnyAddress, AddressString, DecimalString, EpochMs, HexData } from './codec.js';
import { Id, Order, Position, TxHash } from './account.js';
import { MarketSymbol } from './markets.js';
import type { Hex } from '../../core/types.js';
import { RELAY_PURPOSES, RELAY_STATES } from '../../core/ports/stores/relay.js';
import type { OrderRequest } from '../../core/trading/order-request.js';
import type { PositionQuoteRequest } from '../../core/trading/quote-increase.js';

/** Wire schemas of orders, as requested and as returned for signing. */

const positive = DecimalString.pipe(z.custom<Decimal>((value) => isDecimal(value) && value.units > 0n, 'must be above 0'));
const notNegative = DecimalString.pipe(z.custom<Decimal>((value) => isDecimal(value) && value.units >= 0n, 'must not be negative'));

/** `BTC/USD`, `btc-usd`: the same market. */
const AnyMarket = z
  .codec(z.string().regex(/^[A-Za-z0-9.]{1,15}[-/][A-Za-z0-9]{1,10}$/, 'must be written as BASE/QUOTE, or BASE-QUOTE'), z.string(), {
    decode: (text) => text.toUpperCase().replace('-', '/'),
    encode: (symbol) => symbol,
  })
  .meta({ description: 'Base and quote with `/` or `-` between them, in any letter case.' });

const Optional = {
  leverage: positive.optional().meta({ description: 'Required unless `reduceOnly`, which keeps the leverage of the position.' }),
  price: positive.optional().meta({
    description:
      'Required for limit and stop: the trigger. For market the price expected, from which the slippage is counted; the mark price when absent.',
  }),
  collateral: z.string().min(1).max(16).optional().meta({ description: 'Symbol; USDC where it is listed, else the only active one.' }),
  sl: notNegative
    .optional()
    .meta({ description: 'Stop loss. The contracts clamp it; the answer shows what they will store. `"0"` = none.' }),
  tp: notNegative.optional().meta({ description: 'Take profit. `"0"` = none.' }),
  reduceOnly: z.boolean().default(false).meta({
    description:
      'Never opens anything. A market order closes the oldest opposite position of the market and collateral, or a part of it, and then the next. Each position is an order of its own, because the contracts answer each by itself: `order` is that of the oldest, `others` are the rest, and one transaction makes all of them. A limit or stop closes the whole of one: it becomes its take profit or stop loss, in the place of what was there, and rests until it is hit, moved, canceled or replaced, or the position is closed otherwise. Of positions of the same size each gets its own, the oldest first.',
  }),
  slippage: positive.optional().meta({ description: 'Percent; 1 when absent, for `reduceOnly` what the position has stored.' }),
  clientId: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'Names the order for its trader: a repeated request is the same order.' }),
  referrer: AnyAddress.optional().meta({
    description:
      'Becomes the referrer of a trader who has none; the contracts keep the first, and ignore one that the protocol has not whitelisted. `nativeReferrer` of the chain when absent; the zero address = none.',
  }),
};

/** What the fields of an order need of each other. */
function refineOrder(
  { leverage, price, type, reduceOnly, sl, tp, referrer }: Omit<OrderRequest, 'market' | 'side'>,
  context: z.RefinementCtx,
): void {
  const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
  if (leverage === undefined && !reduceOnly) issue('leverage', 'is required unless reduceOnly');
  if (price === undefined && type !== 'market') issue('price', `is required for a ${type} order`);
  if (reduceOnly && sl !== undefined) issue('sl', 'has no meaning for an order that only reduces');
  if (reduceOnly && tp !== undefined) issue('tp', 'has no meaning for an order that only reduces');
  if (reduceOnly && referrer !== undefined) issue('referrer', 'has no meaning for an order that only reduces');
}

/** Unknown fields are refused: a misspelt one must not turn into a market order. */
export const CreateOrderRequest = z
  .strictObject({
    market: AnyMarket,
    side: z.enum(['long', 'short']),
    type: z.enum(ORDER_TYPES),
    size: positive.meta({ description: 'Base units.' }),
    ...Optional,
  })
  .superRefine(refineOrder)
  .meta({ id: 'CreateOrderRequest' });

const NOT_FOR_POSITIONS = ['sl', 'tp', 'reduceOnly', 'collateral', 'referrer', 'clientId'] as const;

/** An order that opens a position, or with `position` an addition to one. */
export const QuoteRequest = z
  .strictObject({
    position: Id.optional().meta({
      description:
        'Quotes an addition to this position of the signing trader: `size` and, if wanted, `leverage`, `price` and `slippage`, as `increase` of PATCH takes them.',
    }),
    market: AnyMarket.optional(),
    side: z.enum(['long', 'short']).optional(),
    type: z.enum(ORDER_TYPES).optional(),
    size: positive.meta({ description: 'Base units.' }),
    ...Optional,
  })
  .superRefine((request, context) => {
    const { position, market, side, type } = request;
    const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (position === undefined) {
      for (const [name, value] of Object.entries({ market, side, type }))
        if (value === undefined) issue(name, 'is required unless position');
      return refineOrder({ ...request, type: type ?? 'market' }, context);
    }
    if (type !== undefined && type !== 'market') issue('type', 'must be market: a position grows at the market');
    for (const name of NOT_FOR_POSITIONS)
      if (request[name] !== undefined && request[name] !== false) issue(name, 'has no meaning for an addition to a position');
  })
  .meta({ id: 'QuoteRequest' });

type Quoted = { readonly order: OrderRequest } | { readonly increase: PositionQuoteRequest };

export function quotedOf({ position, market, side, type, ...order }: z.output<typeof QuoteRequest>): Quoted {
  const { size, leverage, price, slippage } = order;
  if (position !== undefined) return { increase: { position, market, side, size, leverage, price, slippage } };
  if (market === undefined || side === undefined || type === undefined)
    throw new TypeError('the schema takes no order without market, side and type');
  return { order: { ...order, market, side, type } };
}

const PreparedTransaction = z
  .object({
    to: AddressString.meta({ description: 'The Diamond of the chain.' }),
    data: HexData,
    value: z.literal('0'),
    chainId: z.int(),
    gas: z
      .string()
      .nullable()
      .meta({ description: 'Enough gas, estimated from the account that sends; null when it could not be estimated.' }),
    expiresAt: EpochMs.meta({ description: 'Prepare again after this.' }),
  })
  .meta({ id: 'PreparedTransaction' });

export const PreparedOrder = z
  .object({
    order: Order,
    transaction: PreparedTransaction.nullable(),
    others: z.array(Order).optional().meta({
      description: 'Orders that the same transaction makes: one for each further position that a market order with `reduceOnly` closes.',
    }),
  })
  .meta({ id: 'PreparedOrder', description: '`transaction` is null when nothing has to reach the chain.' });

const rate = (description: string) => DecimalString.meta({ description });

export const Quote = z
  .object({
    market: MarketSymbol,
    side: z.enum(['long', 'short']),
    type: z.enum(ORDER_TYPES),
    session: z.enum(SESSIONS),
    size: rate('Base units that the collateral buys at the price expected.'),
    leverage: DecimalString,
    collateral: z.string(),
    collateralNeeded: rate('Collateral taken when the transaction is mined.'),
    notionalUsd: DecimalString,
    price: rate('What the order expects: its own price, or the mark.'),
    expectedPrice: rate('What it would be executed at now; for limit and stop, when triggered.'),
    worstPrice: rate('The last price that its slippage accepts.'),
    impact: z.object({
      spreadPercent: DecimalString,
      volumePercent: DecimalString,
      skewPercent: DecimalString,
      totalPercent: DecimalString,
    }),
    fees: z.object({ open: DecimalString, close: DecimalString, rate: rate('Fraction of the position.'), tierMultiplier: DecimalString }),
    liquidationPrice: DecimalString,
    sl: DecimalString.nullable().meta({ description: 'As the contracts will store it.' }),
    tp: DecimalString.nullable(),
    exposureRoom: rate('Position in collateral that the limits still let in on this side.'),
    reason: z.enum(ORDER_REASONS).nullable().meta({ description: 'Why the order would be refused now; null when it would not.' }),
    account: z
      .object({
        balance: DecimalString,
        allowance: DecimalString,
        isFunded: z.boolean(),
        feeTierMultiplier: DecimalString.nullable(),
        scope: z
          .array(z.object({ code: z.string(), message: z.string() }))
          .meta({ description: 'What the scope of the agent has against it.' }),
      })
      .nullable()
      .meta({ description: 'Of the trader; null without credentials.' }),
    position: Position.nullable().meta({ description: 'Where a position was named: as it will read once the addition is executed.' }),
    timestamp: EpochMs,
  })
  .meta({ id: 'Quote' });

export const ProofPath = z.object({
  address: AnyAddress,
  txHash: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, 'must be a transaction hash')
    .transform((text) => text.toLowerCase() as Hex),
});

const signedBody = {
  signer: AnyAddress,
  envelope: z.string(),
  actionHash: TxHash,
  form: z.enum(['canonical', 'as-sent']),
  network: z.enum(['a', 'b']),
  nonce: z.string(),
  receivedAt: EpochMs,
  approval: z
    .string()
    .nullable()
    .meta({ description: 'The `approveAgent` of the signer as the trader signed it, the one in force then; null where none is stored.' }),
};

export const RelayProof = z
  .object({
    chainId: z.int(),
    txHash: TxHash,
    trader: AnyAddress,
    ...signedBody,
    leverage: z.object(signedBody).nullable().meta({
      description: 'The `updateLeverage` that set the leverage of an opening; null where the trader set none, and for anything else.',
    }),
    purpose: z.enum(RELAY_PURPOSES),
    signedAt: EpochMs.meta({ description: 'When the call was first signed.' }),
    relayer: AnyAddress,
    to: AnyAddress,
    data: TxHash,
    rawTransaction: TxHash,
    state: z.enum(RELAY_STATES),
    orderId: Id.nullable(),
    multiplier: z.int().positive(),
    outcome: z.enum(ORDER_STATUSES).nullable().meta({ description: 'Of the order; null where the transaction made none.' }),
    blockNumber: z.int().nullable(),
    minedAt: EpochMs.nullable().meta({ description: 'Time of that block; null while it is not mined, and where no node says it.' }),
    delegate: AnyAddress.nullable().meta({
      description: "The trader's delegate at that block, or now where no node knows the state of then; null where none says it.",
    }),
    context: z.string(),
  })
  .meta({ id: 'RelayProof' });

const sl = notNegative
  .optional()
  .meta({ description: 'Stop loss; `"0"` removes it. The contracts clamp it, and the answer shows what they will store.' });
const tp = notNegative.optional().meta({ description: 'Take profit; `"0"` removes it.' });

export const UpdateOrderRequest = z
  .strictObject({
    price: positive.optional().meta({
      description:
        'Trigger price. The size stays unless one is given beside it: a new order with the collateral for it takes the place of the old one; the id stays. One that only reduces closes all of its position wherever it stands.',
    }),
    size: positive.optional().meta({ description: 'Base units. Takes a new order in the place of the old one; the id stays.' }),
    sl,
    tp,
    slippage: positive.optional().meta({ description: 'Percent.' }),
  })
  .meta({
    id: 'UpdateOrderRequest',
    description:
      'What is absent stays as the chain has it now. The contracts take all prices of an order at once, so a change that is prepared before another one is mined undoes that one, as its answer shows: wait for the first, or send both in one.',
  });

const TransactionHash = z.codec(
  z.string().regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex characters'),
  z.custom<Hex>((value) => typeof value === 'string'),
  { decode: (text) => text.toLowerCase() as Hex, encode: (hash) => hash },
);

export const SubmitOrderBody = z.strictObject({ txHash: TransactionHash }).meta({ id: 'SubmitOrderBody' });

export const ClosePositionRequest = z
  .strictObject({
    size: positive.optional().meta({ description: 'Base units; the whole position when absent.' }),
    slippage: positive.optional().meta({
      description:
        'Percent; what the position has stored, or 1, when absent. It is stored with the position, so it also guards its sl and tp.',
    }),
  })
  .meta({ id: 'ClosePositionRequest' })
  .prefault({});

const CollateralChange = z.strictObject({
  action: z.enum(['add', 'remove']),
  amount: positive.meta({ description: 'Token units, rounded down to what a leverage of three decimals can express.' }),
});

const Increase = z.strictObject({
  size: positive.meta({ description: 'Base units to add, at the mark price.' }),
  leverage: positive.optional().meta({ description: 'Of the added part; that of the position when absent.' }),
  price: positive.optional().meta({ description: 'The price expected, from which the slippage is counted; the mark price when absent.' }),
  slippage: positive.optional().meta({ description: 'Percent; 1 when absent.' }),
});

const PnlWithdrawal = z.strictObject({
  amount: positive.optional().meta({ description: 'Token units, at most what is available; all of it when absent.' }),
});

/** Exactly one change: the contracts have no call that makes two of them. */
export const UpdatePositionRequest = z
  .strictObject({
    sl,
    tp,
    leverage: positive.optional(),
    collateral: CollateralChange.optional(),
    increase: Increase.optional().meta({
      description:
        'Adds to the position at the market. Leverage has three decimals: that of the position afterwards is rounded down to them, and the size with it; the answer and the fill show what is left. Not for positions from before v10.',
    }),
    withdrawPnl: PnlWithdrawal.optional().meta({
      description:
        'Pays profit to the trader: what closing the position would pay above its collateral. Size, collateral and leverage stay. When the oracle answers, the contracts pay at most what is available then.',
    }),
  })
  .superRefine(({ sl: stop, tp: target, ...others }, context) => {
    const kinds = [stop !== undefined || target !== undefined, ...Object.values(others).map((change) => change !== undefined)];
    if (kinds.filter(Boolean).length !== 1)
      context.addIssue({
        code: 'custom',
        path: [],
        message: 'must have exactly one of: sl and tp, leverage, collateral, increase, withdrawPnl',
      });
  })
  .meta({ id: 'UpdatePositionRequest' });

export const PreparedPosition = z
  .object({
    position: Position.meta({ description: 'As it will read once the change is executed.' }),
    order: Order.nullable().meta({ description: 'All but sl and tp wait for the oracle as every order does; null for these two.' }),
    transaction: PreparedTransaction.nullable(),
  })
  .meta({ id: 'PreparedPosition', description: '`transaction` is null when all is as it was asked for already.' });
