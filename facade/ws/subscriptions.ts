import { z } from 'zod';
import { GatewayError } from '../../core/errors.js';
import type { Address, Cancel } from '../../core/types.js';
import type { AddressLimits, Share } from '../../core/stream/address-shares.js';
import { echoText, errorText, frameText, type Asked } from './frames.js';
import {
  sendOnce,
  SHARED_BY_ALL,
  subscriptionType,
  userOf,
  type OpenContext,
  type Opened,
  type SubscriptionType,
} from './subscription-type.js';
import { MARKET_SUBSCRIPTIONS } from './market-subscriptions.js';
import { STATE_SUBSCRIPTIONS } from './state-subscriptions.js';
import { STORY_SUBSCRIPTIONS } from './account-event-subscriptions.js';
import { Dex, User } from '../info/info-type.js';

export interface SubscriptionLimits {
  readonly subscriptions: number;
  /** Different users that one connection may track. */
  readonly users: number;
}

export interface SubscriptionsOptions extends Omit<OpenContext, 'context'> {
  readonly limits: SubscriptionLimits;
  /** The limits of the address, besides those of the connection. */
  readonly share: Share;
  readonly shareLimits: AddressLimits;
  /** Counts a subscription's request weight; throws when the address exceeds its limit. */
  readonly weigh: (question: string) => void;
  readonly onCount: (change: number) => void;
  /** Logs errors outside the catalogue. */
  readonly onFault: (error: unknown) => void;
  /** Called if not even the refusal can be sent; it cannot throw. */
  readonly fail: (error: unknown) => void;
}

type Method = 'subscribe' | 'unsubscribe';

/** The subscriptions of one connection. */
export interface Subscriptions {
  /** Processed in order, each answered before the next one begins. */
  change(method: Method, asked: Asked): void;
  /** Whether one of them follows an account. */
  hasAccount(): boolean;
  clear(): void;
}

interface Wanted {
  readonly row: SubscriptionType;
  readonly fields: unknown;
  readonly key: string;
}

interface Subscription {
  readonly stop: Cancel;
  readonly user: Address | null;
}

export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { limits, share, shareLimits, weigh, onCount, onFault, fail, ...shared } = options;
  const { feeds, outbox } = shared;
  const held = new Map<string, Subscription>();
  let turn: Promise<void> = Promise.resolve();
  let isOver = false;

  const complain = (text: string): void => outbox.push(errorText(text));

  const refusalOf = (key: string, user: Address | null, asked: Asked): string | null => {
    const users = new Set([...held.values()].flatMap((each) => each.user ?? []));
    if (held.has(key)) return `Already subscribed: ${JSON.stringify(asked)}`;
    if (held.size >= limits.subscriptions) return tooMany('subscriptions', limits.subscriptions, asked);
    if (user !== null && !users.has(user) && users.size >= limits.users) return tooMany('users', limits.users, asked);
    const reached = share.take(user);
    return reached === null ? null : tooMany(reached, shareLimits[reached], asked);
  };

  const openRow = async (row: SubscriptionType, fields: unknown): Promise<Opened | null> => {
    weigh(row.question);
    return row.open({ ...shared, context: await feeds.readContext() }, fields);
  };

  const subscribe = async ({ row, fields, key }: Wanted, asked: Asked): Promise<void> => {
    const user = userOf(fields);
    const refusal = refusalOf(key, user, asked);
    if (refusal !== null) return complain(refusal);
    const opened = await openRow(row, fields).catch((error: unknown) => {
      share.giveBack(user);
      throw error;
    });
    if (opened === null) share.giveBack(user);
    if (opened === null) return complain(`Invalid subscription ${JSON.stringify(asked)}`);
    if (isOver) return opened.stop();
    held.set(key, { stop: opened.stop, user });
    onCount(1);
    outbox.push(echoText('subscribe', { ...row.defaults, ...asked, ...(user === null ? {} : { user }) }));
    opened.begin();
  };

  const unsubscribe = ({ row, fields, key }: Wanted, asked: Asked): void => {
    const known = held.get(key);
    if (known === undefined) return complain(`Already unsubscribed: ${JSON.stringify(asked)}`);
    held.delete(key);
    onCount(-1);
    share.giveBack(known.user);
    known.stop();
    const user = userOf(fields);
    outbox.push(echoText('unsubscribe', { ...row.defaults, ...asked, ...(user === null ? {} : { user }) }));
  };

  const obey = async (method: Method, asked: Asked): Promise<void> => {
    if (isOver) return;
    const wanted = read(asked);
    if (wanted === null) return complain(`Invalid subscription ${JSON.stringify(asked)}`);
    return method === 'subscribe' ? subscribe(wanted, asked) : unsubscribe(wanted, asked);
  };

  const refuse = (method: Method, asked: Asked, error: unknown): void => {
    if (!isKnown(error)) onFault(error);
    const reason = isKnown(error) ? error.message : 'The service failed';
    complain(`${reason} ${JSON.stringify({ method, subscription: asked })}`);
  };

  return {
    change(method, asked) {
      // Each step ends in a handler that cannot throw: a rejection would stop all later steps.
      turn = turn
        .then(() => obey(method, asked))
        .catch((error: unknown) => refuse(method, asked, error))
        .catch(fail);
    },
    hasAccount: () => [...held.values()].some(({ user }) => user !== null),
    clear() {
      isOver = true;
      for (const { stop } of held.values()) stop();
      for (const { user } of held.values()) share.giveBack(user);
      onCount(-held.size);
      held.clear();
    },
  };
}

const tooMany = (limit: 'subscriptions' | 'users', most: number, asked: Asked): string => {
  const request = JSON.stringify({ method: 'subscribe', subscription: asked });
  return limit === 'users'
    ? `Cannot track more than ${most} total users. ${request}`
    : `Cannot subscribe to more than ${most} channels. ${request}`;
};

const isKnown = (error: unknown): error is GatewayError => error instanceof GatewayError;

/** Equal fields make the same subscription, however they were spelt. */
function read(asked: Asked): Wanted | null {
  const row = findSubscription(asked.type);
  const fields = row?.fields.safeParse(asked);
  return row && fields?.success ? { row, fields: fields.data, key: `${row.type} ${JSON.stringify(fields.data)}` } : null;
}

/** Some clients send the channel's name instead of the subscription's. */
const ALIASES: ReadonlyMap<string, string> = new Map([['user', 'userEvents']]);

/** Features that do not exist here: an empty snapshot, and no updates. */
const empty = (type: string, field: string): SubscriptionType =>
  subscriptionType({
    type,
    question: SHARED_BY_ALL,
    fields: OfUser,
    open: (context, { user }) => sendOnce(context, frameText(type, { user, [field]: [], isSnapshot: true })),
  });

const OfUser = z.object({ user: User });

const CONSTANT_SUBSCRIPTIONS: readonly SubscriptionType[] = [
  empty('userNonFundingLedgerUpdates', 'nonFundingLedgerUpdates'),
  empty('userTwapSliceFills', 'twapSliceFills'),
  empty('userTwapHistory', 'history'),
  subscriptionType({
    type: 'twapStates',
    question: SHARED_BY_ALL,
    fields: OfUser.extend({ dex: Dex.transform((dex) => dex ?? '') }),
    defaults: { dex: '' },
    open: (context, { user, dex }) => sendOnce(context, frameText('twapStates', { dex, user, states: [] })),
  }),
];

/** All supported subscriptions. */
const TYPES: ReadonlyMap<string, SubscriptionType> = new Map(
  [...MARKET_SUBSCRIPTIONS, ...STATE_SUBSCRIPTIONS, ...STORY_SUBSCRIPTIONS, ...CONSTANT_SUBSCRIPTIONS].map((row) => [row.type, row]),
);

export const SUBSCRIPTION_NAMES: readonly string[] = [...TYPES.keys(), ...ALIASES.keys()];

export const findSubscription = (type: string): SubscriptionType | undefined => TYPES.get(ALIASES.get(type) ?? type);
