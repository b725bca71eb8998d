import { z } from 'zod';
import { Dex, User } from '../info/info-type.js';
import { frameText } from './frames.js';
import { SHARED_BY_ALL, subscriptionType, sendOnce, type SubscriptionType } from './subscription-type.js';

const OfUser = z.object({ user: User });

/** Features that do not exist here: an empty snapshot, and no updates. */
const empty = (type: string, field: string): SubscriptionType =>
  subscriptionType({
    type,
    question: SHARED_BY_ALL,
    fields: OfUser,
    open: (context, { user }) => sendOnce(context, frameText(type, { user, [field]: [], isSnapshot: true })),
  });

export const CONSTANT_SUBSCRIPTIONS: readonly SubscriptionType[] = [
  // Holding costs stay in a trade until it is closed, so there are no funding payments.
  empty('userFundings', 'fundings'),
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
