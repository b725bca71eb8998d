import { z } from 'zod';
import type { PositionChange } from '../../core/trading/update-position.js';
import { isDecimal, type Decimal } from '../../core/domain/decimal.js';
import type { Hex } from '../../core/types.js';
import { DecimalString } from './schema.js';
import { Order, Position } from './account.js';
import { PreparedTransaction } from './orders.js';

/** Changes of existing orders and positions. Unknown fields are refused: a misspelt one must not be ignored. */

const positive = DecimalString.pipe(z.custom<Decimal>((value) => isDecimal(value) && value.units > 0n, 'must be above 0'));
const notNegative = DecimalString.pipe(z.custom<Decimal>((value) => isDecimal(value) && value.units >= 0n, 'must not be negative'));

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

/** Exactly one change: the contracts have no call that makes two of them. */
export const UpdatePositionRequest = z
  .strictObject({ sl, tp, leverage: positive.optional(), collateral: CollateralChange.optional() })
  .superRefine((change, context) => {
    const kinds = [change.sl !== undefined || change.tp !== undefined, change.leverage !== undefined, change.collateral !== undefined];
    if (kinds.filter(Boolean).length !== 1)
      context.addIssue({ code: 'custom', path: [], message: 'must have exactly one of: sl and tp, leverage, collateral' });
  })
  .meta({ id: 'UpdatePositionRequest' });

/** The schema has ensured that there is exactly one. */
export function changeOf({ sl, tp, leverage, collateral }: z.output<typeof UpdatePositionRequest>): PositionChange {
  if (leverage !== undefined) return { leverage };
  return collateral === undefined ? { sl, tp } : { collateral };
}

export const PreparedPosition = z
  .object({
    position: Position.meta({ description: 'As it will read once the change is executed.' }),
    order: Order.nullable().meta({ description: 'Leverage and collateral wait for the oracle as every order does; null for sl and tp.' }),
    transaction: PreparedTransaction.nullable(),
  })
  .meta({ id: 'PreparedPosition', description: '`transaction` is null when all is as it was asked for already.' });
