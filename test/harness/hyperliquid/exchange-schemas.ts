import { z } from 'zod';

/** What clients expect an action to be answered, written from how they read it. */

/** Always with a point. */
const Dec = z.string().regex(/^(?:0|[1-9]\d*)\.\d+$/);
const Oid = z.int().positive();
const Cloid = z.string().regex(/^0x[0-9a-f]{32}$/);
/** Bots find the market by the end of the sentence. */
const ItemError = z.strictObject({ error: z.string().regex(/^\S.*\S asset=\d+$/) });

const OrderStatus = z.union([
  z.strictObject({ resting: z.strictObject({ oid: Oid, cloid: Cloid.optional() }) }),
  z.strictObject({ filled: z.strictObject({ totalSz: Dec, avgPx: Dec, oid: Oid, cloid: Cloid.optional() }) }),
  z.enum(['waitingForFill', 'waitingForTrigger']),
  ItemError,
]);
const CancelStatus = z.union([z.literal('success'), ItemError]);

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
/** What the trader sends to let the relayer trade: ours, beside what clients know. */
const DelegationTx = z.object({ to: Address, data: z.string().regex(/^0x(?:[0-9a-f]{2})+$/) }).nullable();

const statuses = (type: 'order' | 'cancel', item: z.ZodType) =>
  z.strictObject({ type: z.literal(type), data: z.strictObject({ statuses: z.array(item).min(1).max(200) }) });
const Default = z.strictObject({ type: z.literal('default') });
const Twap = z.strictObject({
  type: z.enum(['twapOrder', 'twapCancel']),
  data: z.strictObject({ status: z.strictObject({ error: z.string().min(1) }) }),
});

const RESPONSES: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ['order', statuses('order', OrderStatus)],
  ['batchModify', statuses('order', OrderStatus)],
  ['cancel', statuses('cancel', CancelStatus)],
  ['cancelByCloid', statuses('cancel', CancelStatus)],
  ['twapOrder', Twap],
  ['twapCancel', Twap],
]);

const Refusal = z.strictObject({ status: z.literal('err'), response: z.string().min(1), delegationTx: DelegationTx.optional() });

/** Throws with every fault when the answer to an action is not what clients read. */
export function checkExchangeAnswer(type: string, body: unknown): void {
  const done = z.strictObject({
    status: z.literal('ok'),
    response: RESPONSES.get(type) ?? Default,
    delegationTx: DelegationTx.optional(),
  });
  const checked = z.union([done, Refusal]).safeParse(body);
  if (!checked.success) throw new Error(`${type}: ${z.prettifyError(checked.error)}\n${JSON.stringify(body).slice(0, 2000)}`);
}
