import { z } from 'zod';
import type { Address, Cancel } from '../../core/types.js';
import { NO_ACCOUNT, priceAccount, type AccountState } from '../info/account-state.js';
import { relayedAgents, showWebData2, webParts } from '../info/account-types.js';
import { activeAssetData, clearinghouseState } from '../info/clearinghouse.js';
import { Coin, Dex, User, isOtherDex, type InfoContext } from '../info/info-type.js';
import { INFO_TYPES } from '../info/info-handler.js';
import { openOrders } from '../info/open-orders.js';
import { marketOf } from '../info/market-types.js';
import { ZERO_TEXT } from '../format.js';
import { frameText } from './frames.js';
import type { Made } from './venue-feeds.js';
import { openShared } from './market-subscriptions.js';
import { subscriptionType, sendOnce, type OpenContext, type Opened, type SubscriptionType } from './subscription-type.js';

const MainDex = Dex.transform((dex) => dex ?? '');
const OfUser = z.object({ user: User });
const OfUserDex = OfUser.extend({ dex: MainDex });
const STATE_GAP_MS = 500;
const ORDERS_GAP_MS = 100;
const WEB_GAP_MS = 1_000;
/** Order changes come from the journal; this poll finds those without an entry. */
const ORDERS_POLL_MS = 15_000;

interface StateRow {
  readonly id: string;
  readonly gapMs: number;
  readonly make: (context: InfoContext, account: AccountState, trader: Address) => Made | null | Promise<Made | null>;
}

/** Account state at current prices; the chain is read when something happened. */
async function openState(context: OpenContext, user: Address, { id, gapMs, make }: StateRow): Promise<Opened> {
  const { feeds } = context;
  const trader = await context.context.traderOf(user);
  const { part: cache, release } = feeds.account(trader);
  const opened = openShared(context, {
    id: `${id} ${user} ${trader}`,
    gapMs,
    async make() {
      const current = await feeds.readContext();
      return make(current, priceAccount(feeds.venue, await cache.facts()), trader);
    },
    watch: (ask): Cancel[] => {
      // The feed outlives the connection that opened it, so it holds the account itself.
      const own = feeds.account(trader);
      return [own.part.listen(ask), own.release, feeds.onPrices(ask)];
    },
  });
  return {
    begin: opened.begin,
    stop() {
      opened.stop();
      release();
    },
  };
}

/** A new timestamp alone is no change. */
const UNSTAMPED = 0;

const openClearinghouse = (context: OpenContext, type: string, user: Address, wrap: (state: object) => object): Promise<Opened> =>
  openState(context, user, {
    id: type,
    gapMs: STATE_GAP_MS,
    make({ universe, venue }, account) {
      const state = (time: number) => wrap({ ...clearinghouseState(universe, account, UNSTAMPED), time });
      return { sameAs: JSON.stringify(state(UNSTAMPED)), text: frameText(type, state(venue.clock.now())) };
    },
  });

async function openOrdersOf(context: OpenContext, user: Address): Promise<Opened> {
  const { feeds } = context;
  const { gateway, venue } = feeds;
  const trader = await context.context.traderOf(user);
  return openShared(context, {
    id: `openOrders ${user} ${trader}`,
    gapMs: ORDERS_GAP_MS,
    async make() {
      const { universe } = await feeds.readContext();
      const text = frameText('openOrders', { dex: '', user, orders: await openOrders({ gateway, venue, universe, trader }) });
      return { text, sameAs: text };
    },
    watch: (ask) => [feeds.journal.listen(trader, ask), venue.clock.every(ORDERS_POLL_MS, ask)],
  });
}

async function openAssetData(context: OpenContext, user: Address, coin: string): Promise<Opened | null> {
  const asset = marketOf(context.context.universe, coin);
  if (asset === null) return null;
  return openState(context, user, {
    id: `activeAssetData ${asset.id} ${asset.symbol}`,
    gapMs: STATE_GAP_MS,
    make(current, state) {
      const text = frameText('activeAssetData', activeAssetData(current, { asset, user, state }));
      return { text, sameAs: text };
    },
  });
}

/** The summary of the info endpoint; it includes the time and all markets, so it changes every second. */
const openWebData2 = (context: OpenContext, user: Address): Promise<Opened> =>
  openState(context, user, {
    id: 'webData2',
    gapMs: WEB_GAP_MS,
    async make(current, state, trader) {
      const parts = await webParts(current, trader);
      const text = frameText('webData2', showWebData2(current, { user, state, ...parts, assetCtxs: context.feeds.contexts(current) }));
      return { text, sameAs: text };
    },
  });

const openWebData3 = (context: OpenContext, user: Address): Promise<Opened> =>
  openState(context, user, {
    id: 'webData3',
    gapMs: WEB_GAP_MS,
    async make({ gateway, venue }, _account, trader) {
      const [agent] = await relayedAgents(gateway, venue, trader);
      const userState = {
        agentAddress: agent?.agent ?? null,
        agentValidUntil: agent?.scope.expiresAt ?? null,
        cumLedger: ZERO_TEXT,
        isVault: false,
        user,
      };
      const data = (serverTime: number) => ({
        userState: { ...userState, serverTime },
        perpDexStates: [{ totalVaultEquity: ZERO_TEXT, perpsAtOpenInterestCap: [], leadingVaults: [] }],
      });
      return { sameAs: JSON.stringify(userState), text: frameText('webData3', data(venue.clock.now())) };
    },
  });

export const STATE_SUBSCRIPTIONS: readonly SubscriptionType[] = [
  subscriptionType({
    type: 'clearinghouseState',
    question: 'clearinghouseState',
    fields: OfUserDex,
    defaults: { dex: '' },
    open: (context, { user, dex }) =>
      isOtherDex(dex)
        ? sendOnce(
            context,
            frameText('clearinghouseState', {
              dex,
              user,
              clearinghouseState: clearinghouseState(context.context.universe, NO_ACCOUNT, context.feeds.venue.clock.now()),
            }),
          )
        : openClearinghouse(context, 'clearinghouseState', user, (state) => ({ dex: '', user, clearinghouseState: state })),
  }),
  subscriptionType({
    type: 'allDexsClearinghouseState',
    question: 'clearinghouseState',
    fields: OfUser,
    open: (context, { user }) =>
      openClearinghouse(context, 'allDexsClearinghouseState', user, (state) => ({ user, clearinghouseStates: [['', state]] })),
  }),
  subscriptionType({
    type: 'openOrders',
    question: 'openOrders',
    fields: OfUserDex,
    defaults: { dex: '' },
    open: (context, { user, dex }) =>
      isOtherDex(dex) ? sendOnce(context, frameText('openOrders', { dex, user, orders: [] })) : openOrdersOf(context, user),
  }),
  subscriptionType({
    type: 'activeAssetData',
    question: 'activeAssetData',
    fields: OfUser.extend({ coin: Coin }),
    open: (context, { user, coin }) => openAssetData(context, user, coin),
  }),
  subscriptionType({ type: 'webData2', question: 'webData2', fields: OfUser, open: (context, { user }) => openWebData2(context, user) }),
  subscriptionType({ type: 'webData3', question: 'webData2', fields: OfUser, open: (context, { user }) => openWebData3(context, user) }),
  subscriptionType({
    type: 'spotState',
    question: 'spotClearinghouseState',
    fields: OfUser,
    async open(context, { user }) {
      const spotState = await INFO_TYPES.get('spotClearinghouseState')?.answer(context.context, { user });
      return sendOnce(context, frameText('spotState', { user, spotState }));
    },
  }),
];
