import { z } from 'zod';
import { isInForce, type Agent } from '../../core/domain/agent.js';
import type { Address } from '../../core/types.js';
import { formatUsd, ZERO_TEXT } from '../format.js';
import { accountValue, activeAssetData, clearinghouseState } from './clearinghouse.js';
import { assetContexts, type AssetContext } from './asset-contexts.js';
import { Coin, Dex, infoType, isOtherDex, User, type InfoContext, type InfoType } from './info-type.js';
import { metaOf } from './market-types.js';
import { openOrders } from './open-orders.js';
import type { FrontendOrder } from './order-shapes.js';
import { DAY_MS, feesOf, totalsSince, volumeOf } from './user-fees.js';
import { NO_ACCOUNT, type AccountState } from './account-state.js';
import { ownsAccount, traderBehind } from '../../core/access/resolve-trader.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { collateralOf } from '../../core/account/describe-order.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import { fromNode } from '../../core/ports/chain.js';
import type { DayTotal } from '../../core/ports/stores/history.js';
import { rulesWithFacts } from '../../core/trading/rules-of-opening.js';

const OfUser = z.object({ user: User });
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
  infoType({ type: 'referral', fields: OfUser, answer: async (context, { user }) => referralOf(context, await context.traderOf(user)) }),
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
  const { spendableUsd, inOrdersUsd, trades } = await accounts.of(venue, user);
  if (spendableUsd > 0n || inOrdersUsd > 0n || trades.length > 0) return { role: 'user' };
  const trader = await traderBehind(gateway, venue, user);
  return trader === user ? { role: 'missing' } : { role: 'agent', data: { user: trader } };
}

/** The contract's referrers have no codes, so the code is the referrer's address. Rewards are paid in the protocol's token, outside of this API. */
async function referralOf(context: InfoContext, trader: Address) {
  const [{ referrer }, totals] = await Promise.all([
    fromNode(context.venue.chain.accountFacts(trader, [])),
    totalsSince(context, trader, 0),
  ]);
  return {
    referredBy: referrer === null ? null : { referrer, code: referrer },
    cumVlm: formatUsd(volumeOf(totals)),
    unclaimedRewards: ZERO_TEXT,
    claimedRewards: ZERO_TEXT,
    builderRewards: ZERO_TEXT,
    referrerState: { stage: 'needToTrade', data: { required: '10000.0' } },
    rewardHistory: [],
    tokenToState: [],
  };
}

const MINUTES_OF_A_DAY = 1_440;

/**
 * Counts the transactions sent for the trader today (UTC) against its daily quota. Without a quota the cap is the per-minute limit
 * multiplied to a day. Requests cannot be bought here, so the surplus is always zero.
 */
async function rateLimitOf(context: InfoContext, trader: Address) {
  const { gateway, venue } = context;
  const [totals, { rules, facts }] = await Promise.all([totalsSince(context, trader, 0), rulesWithFacts(gateway, venue, trader)]);
  return {
    cumVlm: formatUsd(volumeOf(totals)),
    nRequestsUsed: facts.dayTransactions,
    nRequestsCap: rules.dailyTransactions ?? gateway.access.limits['agent-writes'] * MINUTES_OF_A_DAY,
    nRequestsSurplus: 0,
  };
}

const PERIODS = [
  ['day', DAY_MS],
  ['week', 7 * DAY_MS],
  ['month', 30 * DAY_MS],
  ['allTime', Infinity],
] as const;

/**
 * Of the account's value only the current one is known: past ones are not recorded. Profit is the realised profit of the period, at the end of
 * each day (UTC) with executions since the chain is followed, and now with the open profit,
 * less what a close will settle: fees, and profit withdrawn before.
 */
async function portfolio(context: InfoContext, trader: Address) {
  const { venue, accounts } = context;
  const now = venue.clock.now();
  const [state, totals] = await Promise.all([accounts.of(venue, trader), totalsSince(context, trader, 0)]);
  const value = formatUsd(accountValue(state));
  const open = state.trades.reduce((sum, { pnlUsd, fundingUsd, realizedUsd }) => sum + pnlUsd - fundingUsd + realizedUsd, 0n);
  const shown = PERIODS.map(([name, lasts]) => {
    const within = totals.filter(({ day }) => (day + 1) * DAY_MS > now - lasts);
    const pnlHistory = pnlOf(venue, within, { now, open });
    return [name, { accountValueHistory: [[now, value]], pnlHistory, vlm: formatUsd(volumeOf(within)) }] as const;
  });
  return [...shown, ...shown.map(([name, period]) => [`perp${name.charAt(0).toUpperCase()}${name.slice(1)}`, period] as const)];
}

function pnlOf(venue: Venue, totals: readonly DayTotal[], { now, open }: { readonly now: number; readonly open: bigint }) {
  const untilDay = (last: number): bigint =>
    realizedUsd(
      venue,
      totals.filter(({ day }) => day <= last),
    );
  const past = [...new Set(totals.map(({ day }) => day))].filter((day) => (day + 1) * DAY_MS <= now).sort((a, b) => a - b);
  const ends = past.map((day) => [(day + 1) * DAY_MS - 1, formatUsd(untilDay(day))] as const);
  return [...ends, [now, formatUsd(open + realizedUsd(venue, totals))] as const];
}

function realizedUsd({ feed }: Venue, totals: readonly DayTotal[]): bigint {
  const config = feed.config();
  return totals.reduce((sum, { collateralIndex, netPnl }) => {
    const collateral = collateralOf(config, collateralIndex);
    return collateral ? sum + collateralToUsd(netPnl, collateral) : sum;
  }, 0n);
}
