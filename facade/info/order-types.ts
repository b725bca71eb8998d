import { z } from 'zod';
import { Coin, Dex, infoType, isOtherDex, Time, User, type InfoContext, type InfoType } from './info-type.js';
import { openOrders } from './open-orders.js';
import { plainOrder, type AccountContext, type FrontendOrder } from './order-shapes.js';
import { findOrder, orderHistory } from './order-status.js';
import type { Address } from '../../core/types.js';
import { listFills } from './fills.js';
import { userFunding } from './user-funding.js';
import { decimal } from '../../core/domain/decimal.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { formatRate } from '../format.js';
import type { Universe } from '../universe.js';

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

const MOST_FILLS = 2_000;
/** Later than any block. */
const FOREVER = Number.MAX_SAFE_INTEGER;

/** Merges the fills of one order in one transaction. */
const Aggregate = z.boolean().nullish();

export const FILL_TYPES: readonly InfoType[] = [
  infoType({
    type: 'userFills',
    fields: z.object({ user: User, aggregateByTime: Aggregate }),
    answer: async (context, { user, aggregateByTime }) =>
      listFills(await readAccount(context, user), { from: 0, to: FOREVER, limit: MOST_FILLS, newestFirst: true }, aggregateByTime === true),
  }),
  infoType({
    type: 'userFillsByTime',
    fields: z.object({ user: User, startTime: Time, endTime: Time.nullish(), aggregateByTime: Aggregate, reversed: z.boolean().nullish() }),
    answer: async (context, { user, startTime, endTime, reversed, aggregateByTime }) => {
      const window = { from: startTime, to: endTime ?? FOREVER, limit: MOST_FILLS, newestFirst: reversed === true };
      return listFills(await readAccount(context, user), window, aggregateByTime === true);
    },
  }),
  infoType({
    type: 'userFunding',
    fields: z.object({ user: User, startTime: Time.nullish(), endTime: Time.nullish() }),
    answer: async (context, { user, startTime, endTime }) =>
      userFunding(await readAccount(context, user), startTime ?? 0, endTime ?? FOREVER),
  }),
  infoType({
    type: 'fundingHistory',
    fields: z.object({ coin: Coin, startTime: Time, endTime: Time.nullish() }),
    answer: ({ gateway, venue, universe }, query) => fundingHistory(gateway, venue, universe, query),
  }),
  infoType({
    type: 'userNonFundingLedgerUpdates',
    fields: z.object({ user: User, startTime: Time.nullish(), endTime: Time.nullish() }),
    answer: () => [],
  }),
];

const MOST_HOURS = 500;
/** A percentage with eighteen decimals, as a fraction. */
const RATE_SCALE = 20;
const PREMIUM_SCALE = 10;

interface Query {
  readonly coin: string;
  readonly startTime: number;
  readonly endTime?: number | null | undefined;
}

/** The hours that this gateway recorded; there is no earlier data. */
async function fundingHistory({ store }: Gateway, { definition }: Venue, { byCoin }: Universe, { coin, startTime, endTime }: Query) {
  const asset = byCoin.get(coin);
  if (!asset?.pair) return [];
  const hours = await store.facade.funding.between(definition.slug, asset.id, startTime, endTime ?? Number.MAX_SAFE_INTEGER, MOST_HOURS);
  return hours.map(({ rate, premium, time }) => ({
    coin,
    fundingRate: formatRate(decimal(rate, RATE_SCALE)),
    premium: formatRate(decimal(premium, PREMIUM_SCALE)),
    time,
  }));
}

export const readAccount = async ({ gateway, venue, universe, traderOf }: InfoContext, user: Address): Promise<AccountContext> => ({
  gateway,
  venue,
  universe,
  trader: await traderOf(user),
});
