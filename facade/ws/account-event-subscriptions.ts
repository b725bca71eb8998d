import { z } from 'zod';
import type { Address, Cancel } from '../../core/types.js';
import { createOnce } from '../../core/caching/shared-reads.js';
import { joinFills, readFills, type ShownFill } from '../info/fills.js';
import { User } from '../info/info-type.js';
import { fundingOf, type FundingPayment } from '../info/user-funding.js';
import { updatedOrder, type AccountContext } from '../info/order-shapes.js';
import { orderHistory } from '../info/order-status.js';
import { readAccount } from '../info/order-types.js';
import type { AccountUpdates } from './account-events.js';
import { frameText } from './frames.js';
import { subscriptionType, type OpenContext, type Opened, type SubscriptionType } from './subscription-type.js';

const OfUser = z.object({ user: User });
const MOST = 2_000;
/** Later than any block. */
const FOREVER = Number.MAX_SAFE_INTEGER;

/** How one channel publishes an account's events. */
interface Channel {
  readonly question: string;
  /** Sent first, read after listening began; null if the channel starts with the next event. */
  readonly snapshot: ((owner: AccountContext, user: Address) => Promise<Snapshot>) | null;
  readonly texts: (updates: AccountUpdates, user: Address) => readonly string[];
}

interface Snapshot {
  readonly text: string;
  readonly items: readonly unknown[];
  /** Removes from later events what the snapshot already contains. */
  readonly without: (updates: AccountUpdates) => AccountUpdates;
}

/** Serialises an event once per subscribed address, which is the trader or one of its agents. */
const textsOnce = (make: (updates: AccountUpdates, user: Address) => readonly string[]): Channel['texts'] => {
  const made = createOnce<AccountUpdates, Map<Address, readonly string[]>>(() => new Map());
  return (updates, user) => {
    const known = made(updates);
    const texts = known.get(user) ?? make(updates, user);
    known.set(user, texts);
    return texts;
  };
};

const wiresOf = (fills: readonly ShownFill[], isJoined: boolean) => (isJoined ? joinFills(fills) : fills.map(({ wire }) => wire));

const fillsText = (user: Address, fills: readonly object[], isSnapshot: boolean): string =>
  frameText('userFills', { user, fills, ...(isSnapshot ? { isSnapshot } : {}) });

const fillsSnapshot =
  (isJoined: boolean) =>
  async (owner: AccountContext, user: Address): Promise<Snapshot> => {
    const shown = await readFills(owner, { from: 0, to: FOREVER, limit: MOST, newestFirst: true });
    const known = new Set(shown.map(({ wire }) => wire.tid));
    const fills = wiresOf(shown, isJoined).slice(0, MOST);
    return {
      text: fillsText(user, fills, true),
      items: fills,
      without: (updates) => ({ ...updates, fills: updates.fills.filter(({ wire }) => !known.has(wire.tid)) }),
    };
  };

const fillsChannel = (isJoined: boolean): Channel => ({
  question: 'userFills',
  snapshot: fillsSnapshot(isJoined),
  texts: textsOnce(({ fills }, user) => (fills.length === 0 ? [] : [fillsText(user, wiresOf(fills, isJoined), false)])),
});
const JOINED_FILLS = fillsChannel(true);

/** The channel leaves out what the info endpoint names besides. */
const fundingsText = (user: Address, payments: readonly FundingPayment[], isSnapshot: boolean): string => {
  const fundings = payments.map(({ time, delta: { coin, usdc, szi, fundingRate, nSamples } }) => ({
    ...{ time, coin, usdc, szi, fundingRate, nSamples },
  }));
  return frameText('userFundings', { user, fundings, ...(isSnapshot ? { isSnapshot } : {}) });
};

async function fundingsSnapshot(owner: AccountContext, user: Address): Promise<Snapshot> {
  const shown = await readFills(owner, { from: 0, to: FOREVER, limit: MOST, newestFirst: true });
  const fundings = fundingOf(owner.venue, shown);
  const known = new Set(fundings.map(({ hash, delta }) => `${hash} ${delta.szi}`));
  return {
    text: fundingsText(user, fundings, true),
    items: fundings,
    without: (updates) => ({ ...updates, payments: updates.payments.filter(({ hash, delta }) => !known.has(`${hash} ${delta.szi}`)) }),
  };
}

/** The newest state of an order replaces earlier ones, so duplicates are harmless. */
async function historySnapshot(owner: AccountContext, user: Address): Promise<Snapshot> {
  const orderHistoryRows = await orderHistory(owner, MOST);
  const text = frameText('userHistoricalOrders', { user, orderHistory: orderHistoryRows, isSnapshot: true });
  return { text, items: orderHistoryRows, without: (updates) => updates };
}

const CHANNELS = {
  orderUpdates: {
    question: 'openOrders',
    snapshot: null,
    texts: textsOnce(({ orders }) =>
      orders.length === 0
        ? []
        : [
            frameText(
              'orderUpdates',
              orders.map(({ order, status, statusTimestamp }) => ({ order: updatedOrder(order), status, statusTimestamp })),
            ),
          ],
    ),
  },
  userEvents: {
    question: 'openOrders',
    snapshot: null,
    texts: textsOnce(({ fills, liquidations, nonUserCancels }) => [
      ...(fills.length === 0 ? [] : [frameText('user', { fills: wiresOf(fills, false) })]),
      ...liquidations.map((liquidation) => frameText('user', { liquidation })),
      ...(nonUserCancels.length === 0 ? [] : [frameText('user', { nonUserCancel: nonUserCancels })]),
    ]),
  },
  userFills: fillsChannel(false),
  userFundings: {
    question: 'userFunding',
    snapshot: fundingsSnapshot,
    texts: textsOnce(({ payments }, user) => (payments.length === 0 ? [] : [fundingsText(user, payments, false)])),
  },
  notification: {
    question: 'openOrders',
    snapshot: null,
    texts: textsOnce(({ moved }) => moved.map((text) => frameText('notification', { notification: text }))),
  },
  userHistoricalOrders: {
    question: 'historicalOrders',
    snapshot: historySnapshot,
    texts: textsOnce(({ orders }, user) =>
      orders.length === 0 ? [] : [frameText('userHistoricalOrders', { user, orderHistory: orders })],
    ),
  },
} as const satisfies Record<string, Channel>;

/** No event after the confirmation is missing or sent twice. */
async function openAccountEvents(context: OpenContext, user: Address, channel: Channel): Promise<Opened> {
  const { feeds, outbox, charge, lose } = context;
  const trader = await context.context.traderOf(user);
  const { part, release } = feeds.accountEvents(trader);
  let cancel: Cancel = () => undefined;
  let isStopped = false;
  let isFirst = true;
  /** Events that arrive while a snapshot is read; null otherwise. */
  let meanwhile: AccountUpdates[] | null = null;

  const say = (updates: AccountUpdates): void => channel.texts(updates, user).forEach((text) => outbox.push(text));

  const sendSnapshot = async (): Promise<void> => {
    if (channel.snapshot === null || meanwhile !== null) return;
    meanwhile = [];
    const { text, items, without } = await channel.snapshot(await readAccount(await feeds.readContext(), trader), user);
    // A snapshot after a reorganisation is not charged to the client.
    if (isFirst) charge(channel.question, items);
    isFirst = false;
    if (isStopped) return;
    outbox.push(text);
    const waiting = meanwhile;
    meanwhile = null;
    for (const updates of waiting) say(without(updates));
    if (waiting.some(({ hasTakenBack }) => hasTakenBack)) await sendSnapshot();
  };
  const beginAgain = (): void =>
    void sendSnapshot().catch((error: unknown) => {
      feeds.venue.log.warn('facade.snapshot-not-read', { error });
      lose('the account cannot be read');
    });

  const onUpdates = (updates: AccountUpdates): void => {
    if (meanwhile !== null) return void meanwhile.push(updates);
    // The protocol has no message for a removed fill, so a new snapshot is sent.
    if (updates.hasTakenBack && channel.snapshot !== null) return beginAgain();
    say(updates);
  };

  try {
    await part.ready;
  } catch (error) {
    release();
    throw error;
  }
  return {
    begin() {
      cancel = part.listen({ onUpdates, onLost: () => lose('the account cannot be followed') });
      beginAgain();
    },
    stop() {
      isStopped = true;
      cancel();
      release();
    },
  };
}

const row = (type: string, channel: Channel): SubscriptionType =>
  subscriptionType({
    type,
    question: channel.question,
    fields: OfUser,
    open: (context, { user }) => openAccountEvents(context, user, channel),
  });

export const STORY_SUBSCRIPTIONS: readonly SubscriptionType[] = [
  row('orderUpdates', CHANNELS.orderUpdates),
  row('userEvents', CHANNELS.userEvents),
  subscriptionType({
    type: 'userFills',
    question: CHANNELS.userFills.question,
    fields: OfUser.extend({
      aggregateByTime: z
        .boolean()
        .nullish()
        .transform((value) => value ?? false),
    }),
    open: (context, { user, aggregateByTime }) => openAccountEvents(context, user, aggregateByTime ? JOINED_FILLS : CHANNELS.userFills),
  }),
  row('userFundings', CHANNELS.userFundings),
  row('userHistoricalOrders', CHANNELS.userHistoricalOrders),
  row('notification', CHANNELS.notification),
];
