import { getFunding } from '../../core/markets/funding.js';
import { getMarket, listMarkets } from '../../core/markets/list-markets.js';
import { listPrices } from '../../core/markets/list-prices.js';
import { getOrderBook } from '../../core/markets/order-book.js';
import { venueOperation, type Operation } from '../operation.js';
import { BookQuery, FundingSnapshot, Market, MarketParams, Markets, OrderBook, Prices } from '../wire/markets.js';

export const marketOperations: readonly Operation[] = [
  venueOperation({
    id: 'listMarkets',
    method: 'GET',
    path: '/markets',
    auth: 'none',
    summary: 'Every listed market with its bounds, fees and rates.',
    reply: Markets,
    errors: ['NOT_READY'],
    hot: true,
    handle: ({ venue }) => ({ data: listMarkets(venue) }),
  }),

  venueOperation({
    id: 'getMarket',
    method: 'GET',
    path: '/markets/:symbol',
    auth: 'none',
    summary: 'One market with its bounds, fees and rates.',
    params: MarketParams,
    reply: Market,
    errors: ['MARKET_NOT_FOUND', 'NOT_READY'],
    handle: ({ venue, params }) => getMarket(venue, params.symbol),
  }),

  venueOperation({
    id: 'getOrderBook',
    method: 'GET',
    path: '/markets/:symbol/book',
    auth: 'none',
    summary: 'What the contract would fill now, derived from its depth bands; there is no resting book.',
    params: MarketParams,
    query: BookQuery,
    reply: OrderBook,
    errors: ['MARKET_NOT_FOUND', 'NOT_READY'],
    hot: true,
    handle: ({ venue, params, query }) => getOrderBook(venue, params.symbol, query.levels),
  }),

  venueOperation({
    id: 'getFunding',
    method: 'GET',
    path: '/markets/:symbol/funding',
    auth: 'none',
    summary: 'Funding and borrowing rates of now, in percent per hour, with open interest.',
    params: MarketParams,
    reply: FundingSnapshot,
    errors: ['MARKET_NOT_FOUND', 'NOT_READY'],
    handle: ({ venue, params }) => getFunding(venue, params.symbol),
  }),

  venueOperation({
    id: 'getPrices',
    method: 'GET',
    path: '/prices',
    auth: 'none',
    summary: 'Mark and index price of every market that has one.',
    reply: Prices,
    errors: ['NOT_READY'],
    hot: true,
    handle: ({ venue }) => ({ data: listPrices(venue) }),
  }),
];
