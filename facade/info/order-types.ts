import { z } from 'zod';
import type { InfoContext, InfoType } from './info-type.js';
import { Dex, User, infoType, isOtherDex } from './info-type.js';
import { openOrders } from './open-orders.js';
import { plainOrder, type FrontendOrder } from './order-shapes.js';
import { findOrder, orderHistory } from './order-status.js';
import { readAccount } from './read-account.js';
import type { Address } from '../../core/types.js';

const OfUser = z.object({ user: User, dex: Dex });
const MOST_ORDERS = 2_000;

const Cloid = z
  .string()
  .regex(/^0x[0-9a-fA-F]{32}$/)
  .transform((text) => text.toLowerCase());

async function listOpen(context: InfoContext, user: Address, dex: z.output<typeof Dex>): Promise<FrontendOrder[]> {
  return isOtherDex(dex) ? [] : openOrders(await readAccount(context, user));
}

/** Children of a resting order are part of its row in one format, and separate rows in the other. */
const withChildren = (order: FrontendOrder): FrontendOrder[] => [order, ...order.children];

export const ORDER_TYPES: readonly InfoType[] = [
  infoType({
    type: 'openOrders',
    fields: OfUser,
    answer: async (context, { user, dex }) => (await listOpen(context, user, dex)).flatMap(withChildren).map(plainOrder),
  }),
  infoType({ type: 'frontendOpenOrders', fields: OfUser, answer: (context, { user, dex }) => listOpen(context, user, dex) }),
  infoType({
    type: 'orderStatus',
    fields: z.object({ user: User, oid: z.union([z.int().nonnegative(), Cloid]) }),
    answer: async (context, { user, oid }) => {
      const order = await findOrder(await readAccount(context, user), oid);
      return order === null ? { status: 'unknownOid' } : { status: 'order', order };
    },
  }),
  infoType({
    type: 'historicalOrders',
    fields: z.object({ user: User }),
    answer: async (context, { user }) => orderHistory(await readAccount(context, user), MOST_ORDERS),
  }),
];
