import { getAccount } from '../../core/account/get-account.js';
import { listFills } from '../../core/account/list-fills.js';
import { getOrder, listOpenOrders, listOrderHistory } from '../../core/account/list-orders.js';
import { listPositions } from '../../core/account/list-positions.js';
import { waitForOrder } from '../../core/trading/wait-for-order.js';
import { venueOperation, type Operation } from '../operation.js';
import { Account, AccountPath, FillPage, Order, OrderList, OrderPage, OrderPath, PageRequest, PositionList } from '../wire/account.js';

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
