import { z } from 'zod';
import type { Agent } from '../../core/domain/agent.js';
import type { Address } from '../../core/types.js';
import { ZERO_TEXT } from '../format.js';
import { activeAssetData } from './active-asset.js';
import { assetContexts, type AssetContext } from './asset-contexts.js';
import { clearinghouseState } from './clearinghouse.js';
import { extraAgents, relayedAgents, roleOf } from './agents.js';
import { feesOf, portfolio, rateLimitOf } from './figures.js';
import { Coin, Dex, User, infoType, isOtherDex, type InfoContext, type InfoType } from './info-type.js';
import { metaOf } from './meta.js';
import { openOrders } from './open-orders.js';
import type { FrontendOrder } from './order-shapes.js';
import type { AccountState } from './account-state.js';

const OfUser = z.object({ user: User });
const NO_ACCOUNT: AccountState = { trades: [], spendableUsd: 0n, settings: new Map() };

const stateOf = async ({ accounts, venue, traderOf }: InfoContext, user: Address): Promise<AccountState> =>
  accounts.of(venue, await traderOf(user));

/** Everything about an account at once, as web pages ask for it. */
async function webData2(context: InfoContext, user: Address) {
  const { venue, universe, day, accounts } = context;
  const trader = await context.traderOf(user);
  const [state, parts] = await Promise.all([accounts.of(venue, trader), webParts(context, trader)]);
  return showWebData2(context, { user, state, ...parts, assetCtxs: assetContexts(venue, universe, day) });
}

export interface WebParts {
  readonly orders: readonly FrontendOrder[];
  readonly agent: Agent | null;
}

/** The part that comes from the database. */
export async function webParts({ gateway, venue, universe }: InfoContext, trader: Address): Promise<WebParts> {
  const [orders, [agent]] = await Promise.all([openOrders({ gateway, venue, universe, trader }), relayedAgents(gateway, venue, trader)]);
  return { orders, agent: agent ?? null };
}

export interface WebData extends WebParts {
  readonly user: Address;
  readonly state: AccountState;
  readonly assetCtxs: readonly AssetContext[];
}

export function showWebData2({ venue, universe }: InfoContext, { user, state, orders, agent, assetCtxs }: WebData) {
  const serverTime = venue.clock.now();
  return {
    clearinghouseState: clearinghouseState(universe, state, serverTime),
    leadingVaults: [],
    totalVaultEquity: ZERO_TEXT,
    openOrders: orders,
    agentAddress: agent?.agent ?? null,
    agentValidUntil: agent?.scope.expiresAt ?? null,
    cumLedger: ZERO_TEXT,
    meta: metaOf(universe),
    assetCtxs,
    serverTime,
    isVault: false,
    user,
    twapStates: [],
    spotState: { balances: [] },
    spotAssetCtxs: [],
  };
}

export const ACCOUNT_TYPES: readonly InfoType[] = [
  infoType({
    type: 'clearinghouseState',
    fields: OfUser.extend({ dex: Dex }),
    answer: async (context, { user, dex }) =>
      clearinghouseState(context.universe, isOtherDex(dex) ? NO_ACCOUNT : await stateOf(context, user), context.venue.clock.now()),
  }),
  infoType({
    type: 'activeAssetData',
    fields: OfUser.extend({ coin: Coin }),
    answer: async (context, { user, coin }) => {
      const asset = context.universe.byCoin.get(coin);
      return asset?.pair ? activeAssetData(context, { asset, user, state: await stateOf(context, user) }) : null;
    },
  }),
  infoType({ type: 'webData2', fields: OfUser, answer: (context, { user }) => webData2(context, user) }),
  infoType({ type: 'userRole', fields: OfUser, answer: (context, { user }) => roleOf(context, user) }),
  infoType({
    type: 'extraAgents',
    fields: OfUser,
    answer: async ({ gateway, venue, traderOf }, { user }) => extraAgents(gateway, venue, await traderOf(user)),
  }),
  infoType({ type: 'userFees', fields: OfUser, answer: async (context, { user }) => feesOf(context, await context.traderOf(user)) }),
  infoType({
    type: 'userRateLimit',
    fields: OfUser,
    answer: async (context, { user }) => rateLimitOf(context, await context.traderOf(user)),
  }),
  infoType({ type: 'portfolio', fields: OfUser, answer: async (context, { user }) => portfolio(context, await context.traderOf(user)) }),
];
