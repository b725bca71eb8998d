import { z } from 'zod';
import { getAccount } from '../../core/account/get-account.js';
import { getOrder, listFills, listOpenOrders, listOrderHistory } from '../../core/account/list-orders.js';
import { listPositions } from '../../core/account/list-positions.js';
import { waitForOrder } from '../../core/trading/wait-for-order.js';
import { gatewayOperation, venueOperation, type Operation } from '../operation.js';
import {
  Account,
  AccountPath,
  Dismissed,
  DismissPath,
  FillPage,
  NotificationsReply,
  Order,
  OrderList,
  OrderPage,
  OrderPath,
  PageRequest,
  PositionList,
  ReadinessPath,
  ReadinessQuery,
  TraderReadiness,
} from '../wire/account.js';
import { traderReadiness, type WantedAllowance } from '../../core/access/trader-readiness.js';
import type { Gateway } from '../../core/gateway.js';
import { dismissNotification, listNotifications } from '../../core/notifications/list-notifications.js';
import type { Address } from '../../core/types.js';
import { listEvents } from '../../core/account/list-events.js';
import { getOrderTimeline } from '../../core/trading/order-timeline.js';
import { EventPage, EventsRequest, OrderTimeline } from '../wire/journal.js';

export const accountOperations: readonly Operation[] = [
  venueOperation({
    id: 'getAccount',
    method: 'GET',
    path: '/account/:address',
    auth: 'reader',
    summary: 'Balances, allowances, fee tier, referrer and agents of the account.',
    params: AccountPath,
    reply: Account,
    handle: ({ gateway, venue, caller }) => getAccount(gateway, venue, caller.trader),
  }),

  venueOperation({
    id: 'listPositions',
    method: 'GET',
    path: '/account/:address/positions',
    auth: 'reader',
    summary: 'Open positions with live profit, fees and liquidation price, wherever they were opened.',
    params: AccountPath,
    reply: PositionList,
    handle: async ({ gateway, venue, caller }) => ({
      data: await listPositions(gateway, venue, caller.trader),
    }),
  }),

  venueOperation({
    id: 'listOpenOrders',
    method: 'GET',
    path: '/account/:address/orders',
    auth: 'reader',
    summary: 'Orders that are prepared, rest, wait for the oracle or can be reclaimed, newest first, wherever they were made.',
    params: AccountPath,
    reply: OrderList,
    handle: async ({ gateway, venue, caller }) => ({
      data: await listOpenOrders(gateway, venue, caller.trader),
    }),
  }),

  venueOperation({
    id: 'listOrderHistory',
    method: 'GET',
    path: '/account/:address/orders/history',
    auth: 'reader',
    summary: 'Every order of the account, newest first, in pages.',
    params: AccountPath,
    query: PageRequest,
    reply: OrderPage,
    handle: ({ gateway, venue, caller, query }) => listOrderHistory(gateway, venue, caller.trader, query),
  }),

  venueOperation({
    id: 'listFills',
    method: 'GET',
    path: '/account/:address/fills',
    auth: 'reader',
    summary: 'Everything that was executed for the account, newest first, in pages.',
    params: AccountPath,
    query: PageRequest,
    reply: FillPage,
    handle: ({ gateway, venue, caller, query }) => listFills(gateway, venue, caller.trader, query),
  }),

  venueOperation({
    id: 'getOrder',
    method: 'GET',
    path: '/orders/:id',
    auth: 'reader',
    summary: 'One order of the account.',
    params: OrderPath,
    reply: Order,
    errors: ['ORDER_NOT_FOUND'],
    waits: true,
    handle: ({ gateway, venue, caller, params, wait }) =>
      wait === null ? getOrder(gateway, venue, caller, params.id) : waitForOrder(gateway, venue, caller, params.id, wait),
  }),
];

const wantedOf = (text: string): WantedAllowance => (text === 'unlimited' ? text : { amount: text });

export const readinessOperations: readonly Operation[] = [
  venueOperation({
    id: 'getReadiness',
    method: 'GET',
    path: '/readiness/:address',
    auth: 'none',
    summary: 'Can this address trade, through either API, and which step is missing?',
    params: ReadinessPath,
    query: ReadinessQuery,
    reply: TraderReadiness,
    errors: ['UPSTREAM_UNAVAILABLE', 'NOT_READY'],
    handle: ({ gateway, venue, params, query: { allowance } }) =>
      traderReadiness(gateway, venue, params.address, allowance === undefined ? 'balance' : wantedOf(allowance)),
  }),
];

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export const notificationOperations: readonly Operation[] = [
  gatewayOperation({
    id: 'listNotifications',
    method: 'GET',
    path: '/api/notifications/:wallet',
    auth: 'none',
    summary: 'What is new for a wallet on every chain, newest first; a malformed address has nothing new.',
    params: z.object({ wallet: z.string() }),
    reply: NotificationsReply,
    status: ({ success }) => (success ? 200 : 500),
    statuses: [200, 500],
    handle: ({ gateway, params }) => readNotifications(gateway, params.wallet),
  }),

  venueOperation({
    id: 'dismissNotification',
    method: 'POST',
    path: '/account/:address/notifications/:id/dismiss',
    auth: 'agent',
    summary: 'Dismiss a notification; repeating it, or using an unknown id, changes nothing.',
    params: DismissPath,
    reply: Dismissed,
    errors: ['UPSTREAM_UNAVAILABLE'],
    handle: async ({ gateway, caller, params }) => {
      await dismissNotification(gateway, caller.trader, Number(params.id));
      return { success: true as const };
    },
  }),
];

async function readNotifications(gateway: Gateway, wallet: string): Promise<z.output<typeof NotificationsReply>> {
  if (!ADDRESS.test(wallet)) return { success: true, notifications: [] };
  try {
    return { success: true, notifications: await listNotifications(gateway, wallet.toLowerCase() as Address) };
  } catch (error) {
    gateway.log.warn('notifications.failed', { error });
    return { success: false, error: 'NOTIFICATIONS_UNAVAILABLE', message: 'The notifications cannot be read right now; retry.' };
  }
}

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
