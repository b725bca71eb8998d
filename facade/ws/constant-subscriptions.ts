import { z } from 'zod';
import { Dex, User } from '../info/info-type.js';
import { frameText } from './frames.js';
import { SHARED_BY_ALL, subscriptionType, tellOnce, type SubscriptionType } from './subscription-type.js';

const OfUser = z.object({ user: User });

/** What does not exist here begins with an empty snapshot, and nothing follows. */
const empty = (type: string, field: string): SubscriptionType =>
  subscriptionType({
    type,
    question: SHARED_BY_ALL,
    fields: OfUser,
    open: (context, { user }) => tellOnce(context, frameText(type, { user, [field]: [], isSnapshot: true })),
  });

export const CONSTANT_SUBSCRIPTIONS: readonly SubscriptionType[] = [
  // Costs of holding stay inside a trade until it is closed: no payment ever happens, and none is made up.
  empty('userFundings', 'fundings'),
  empty('userNonFundingLedgerUpdates', 'nonFundingLedgerUpdates'),
  empty('userTwapSliceFills', 'twapSliceFills'),
  empty('userTwapHistory', 'history'),
  subscriptionType({
    type: 'twapStates',
    question: SHARED_BY_ALL,
    fields: OfUser.extend({ dex: Dex.transform((dex) => dex ?? '') }),
    defaults: { dex: '' },
    open: (context, { user, dex }) => tellOnce(context, frameText('twapStates', { dex, user, states: [] })),
  }),
];
