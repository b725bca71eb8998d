import { z } from 'zod';
import { isInForce, type Agent } from '../../core/domain/agent.js';
import type { Address } from '../../core/types.js';
import { ZERO_TEXT } from '../format.js';
import { activeAssetData, clearinghouseState } from './clearinghouse.js';
import { assetContexts, type AssetContext } from './asset-contexts.js';
import { feesOf, portfolio, rateLimitOf } from './figures.js';
import { Coin, Dex, infoType, isOtherDex, User, type InfoContext, type InfoType } from './info-type.js';
import { metaOf } from './market-types.js';
import { openOrders } from './open-orders.js';
import type { FrontendOrder } from './order-shapes.js';
import type { AccountState } from './account-state.js';
import { ownsAccount, traderBehind } from '../../core/access/resolve-trader.js';
import type { Gateway, Venue } from '../../core/gateway.js';

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

/** The end of the year 9999: the wire has no other value for an authorisation without expiry. */
const NEVER = 253_402_300_799_999;

/** Agents that may sign for the trader on the facade; agents of the native API may not. */
export async function relayedAgents({ store }: Gateway, { definition, clock }: Venue, trader: Address): Promise<Agent[]> {
  const agents = await store.access.listAgents(definition.slug, trader);
  return agents.filter((agent) => agent.mode === 'relayed' && isInForce(agent, clock.now()));
}

/** Agents with a name; the unnamed agent is the trader's default one and is not listed. */
async function extraAgents(gateway: Gateway, venue: Venue, trader: Address) {
  const agents = await relayedAgents(gateway, venue, trader);
  return agents
    .filter(({ name }) => name !== '')
    .map(({ agent, name, scope }) => ({ address: agent, name, validUntil: scope.expiresAt ?? NEVER }));
}

/** A wallet with an allowance, a delegate, agents or trades of its own is a user, even if another wallet named it as an agent. */
async function roleOf({ gateway, venue, accounts }: InfoContext, user: Address) {
  if (await ownsAccount(gateway, venue, user)) return { role: 'user' };
  const { spendableUsd, trades } = await accounts.of(venue, user);
  if (spendableUsd > 0n || trades.length > 0) return { role: 'user' };
  const trader = await traderBehind(gateway, venue, user);
  return trader === user ? { role: 'missing' } : { role: 'agent', data: { user: trader } };
}
