import { z } from 'zod';
import type { InfoContext, InfoType } from './info-type.js';
import { Dex, User, infoType, isOtherDex } from './info-type.js';
import { openOrders } from './open-orders.js';
import { plainOrder, type FrontendOrder } from './order-shapes.js';
import { findOrder, withStatus, type Whose } from './order-status.js';
import type { Address } from '../../core/ports.js';

const OfUser = z.object({ user: User, dex: Dex });
const MOST_ORDERS = 2_000;

const Cloid = z
  .string()
  .regex(/^0x[0-9a-fA-F]{32}$/)
  .transform((text) => text.toLowerCase());

async function listOpen(
  { gateway, venue, universe, traderOf }: InfoContext,
  user: Address,
  dex: z.output<typeof Dex>,
): Promise<FrontendOrder[]> {
  return isOtherDex(dex) ? [] : openOrders(gateway, venue, universe, await traderOf(user));
}

const whose = async ({ gateway, venue, universe, traderOf }: InfoContext, user: Address): Promise<Whose> => ({
  gateway,
  venue,
  universe,
  trader: await traderOf(user),
});

/** Children of an order that rests are in its row there, and in rows of their own here. */
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
      const order = await findOrder(await whose(context, user), oid);
      return order === null ? { status: 'unknownOid' } : { status: 'order', order };
    },
  }),
  infoType({
    type: 'historicalOrders',
    fields: z.object({ user: User }),
    answer: async (context, { user }) => {
      const owner = await whose(context, user);
      const seen = await context.gateway.store.facade.history.orders(context.venue.definition.slug, owner.trader, MOST_ORDERS);
      return seen.flatMap((order) => withStatus(owner, order) ?? []);
    },
  }),
];
