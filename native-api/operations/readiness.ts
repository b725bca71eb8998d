import { traderReadiness, type WantedAllowance } from '../../core/access/trader-readiness.js';
import { venueOperation, type Operation } from '../operation.js';
import { ReadinessPath, ReadinessQuery, TraderReadiness } from '../wire/readiness.js';

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
