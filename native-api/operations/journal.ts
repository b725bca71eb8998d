import { listEvents } from '../../core/account/list-events.js';
import { getOrderTimeline } from '../../core/trading/order-timeline.js';
import { venueOperation, type Operation } from '../operation.js';
import { AccountPath, OrderPath } from '../wire/account.js';
import { EventPage, EventsRequest, OrderTimeline } from '../wire/journal.js';

export const journalOperations: readonly Operation[] = [
  venueOperation({
    id: 'listEvents',
    method: 'GET',
    path: '/account/:address/events',
    auth: 'reader',
    summary:
      'Everything that happened to orders, fills, positions and agents of the account, oldest first. Cursors rise by one; a client that passes the last cursor seen as `after` misses nothing and gets nothing twice.',
    params: AccountPath,
    query: EventsRequest,
    reply: EventPage,
    handle: ({ gateway, venue, caller, query }) => listEvents(gateway, venue, caller.trader, query),
  }),

  venueOperation({
    id: 'getOrderTimeline',
    method: 'GET',
    path: '/orders/:id/timeline',
    auth: 'reader',
    summary: 'Every step of an order with its times, and on a rejection the two numbers that disagreed.',
    params: OrderPath,
    reply: OrderTimeline,
    errors: ['ORDER_NOT_FOUND'],
    handle: ({ gateway, venue, caller, params }) => getOrderTimeline(gateway, venue, caller, params.id),
  }),
];
