import { listMarkets } from '../../core/markets/list-markets.js';
import { listPrices } from '../../core/markets/list-prices.js';
import { venueOperation, type Operation } from '../operation.js';
import { Markets, Prices } from '../wire.js';

export const marketOperations: readonly Operation[] = [
  venueOperation({
    id: 'listMarkets',
    method: 'GET',
    path: '/markets',
    auth: 'none',
    summary: 'Every listed market with its bounds, fees and rates.',
    reply: Markets,
    handle: ({ venue }) => ({ data: listMarkets(venue) }),
  }),

  venueOperation({
    id: 'getPrices',
    method: 'GET',
    path: '/prices',
    auth: 'none',
    summary: 'Mark and index price of every market that has one.',
    reply: Prices,
    handle: ({ venue }) => ({ data: listPrices(venue) }),
  }),
];
