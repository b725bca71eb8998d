import { listDayFigures } from '../../core/markets/day-figures.js';
import { getFunding } from '../../core/markets/funding.js';
import { getCandles, readCandles } from '../../core/markets/get-candles.js';
import { getMarket, getOrderBook, getRecentTrades, listMarkets, listPrices } from '../../core/markets/market-data.js';
import { venueOperation, type Operation } from '../operation.js';
import {
  BookQuery,
  Candles,
  CandlesQuery,
  candlesReply,
  DayFigures,
  FundingSnapshot,
  Market,
  MarketParams,
  Markets,
  MarketTrades,
  OrderBook,
  Prices,
  TradesQuery,
} from '../wire/markets.js';

export const marketOperations: readonly Operation[] = [
  venueOperation({
    id: 'listMarkets',
    method: 'GET',
    path: '/markets',
    auth: 'none',
    summary: 'Every listed market with its bounds, fees and rates.',
    reply: Markets,
    errors: ['NOT_READY'],
    cached: true,
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
    cached: true,
    handle: ({ venue, params, query }) => getOrderBook(venue, params.symbol, query.levels),
  }),

  venueOperation({
    id: 'getCandles',
    method: 'GET',
    path: '/markets/:symbol/candles',
    auth: 'none',
    summary: 'Candles that open in [from, to), oldest first, at most 5000; 500 of 1h up to now unless asked otherwise.',
    params: MarketParams,
    query: CandlesQuery,
    reply: Candles,
    errors: ['MARKET_NOT_FOUND', 'UPSTREAM_UNAVAILABLE', 'NOT_READY'],
    expensive: true,
    write: async ({ gateway, venue, params, query }) => candlesReply(await readCandles(gateway, venue, params.symbol, query)),
    handle: async ({ gateway, venue, params, query }) => ({ data: await getCandles(gateway, venue, params.symbol, query) }),
  }),

  venueOperation({
    id: 'getRecentTrades',
    method: 'GET',
    path: '/markets/:symbol/trades',
    auth: 'none',
    summary: 'Executed trades of the last day, newest first; `side` is the side of the position.',
    params: MarketParams,
    query: TradesQuery,
    reply: MarketTrades,
    errors: ['MARKET_NOT_FOUND', 'UPSTREAM_UNAVAILABLE', 'NOT_READY'],
    handle: async ({ venue, params, query }) => ({ data: await getRecentTrades(venue, params.symbol, query.limit) }),
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
    cached: true,
    handle: ({ venue }) => ({ data: listPrices(venue) }),
  }),

  venueOperation({
    id: 'getDayFigures',
    method: 'GET',
    path: '/day',
    auth: 'none',
    summary: 'Price of 24 hours ago and traded volume of every market, renewed once a minute.',
    reply: DayFigures,
    errors: ['NOT_READY'],
    cached: true,
    handle: ({ gateway, venue }) => ({ data: listDayFigures(gateway, venue) }),
  }),
];
