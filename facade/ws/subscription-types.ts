import { CONSTANT_SUBSCRIPTIONS } from './constant-subscriptions.js';
import { MARKET_SUBSCRIPTIONS } from './market-subscriptions.js';
import { STATE_SUBSCRIPTIONS } from './state-subscriptions.js';
import { STORY_SUBSCRIPTIONS } from './account-event-subscriptions.js';
import type { SubscriptionType } from './subscription-type.js';

/** Some clients send the channel's name instead of the subscription's. */
const ALIASES: ReadonlyMap<string, string> = new Map([['user', 'userEvents']]);

/** All supported subscriptions. */
const TYPES: ReadonlyMap<string, SubscriptionType> = new Map(
  [...MARKET_SUBSCRIPTIONS, ...STATE_SUBSCRIPTIONS, ...STORY_SUBSCRIPTIONS, ...CONSTANT_SUBSCRIPTIONS].map((row) => [row.type, row]),
);

export const SUBSCRIPTION_NAMES: readonly string[] = [...TYPES.keys(), ...ALIASES.keys()];

export const findSubscription = (type: string): SubscriptionType | undefined => TYPES.get(ALIASES.get(type) ?? type);
