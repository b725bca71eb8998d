import { traderReadiness } from '../../core/access/trader-readiness.js';
import { venueOperation, type Operation } from '../operation.js';
import { ReadinessPath, TraderReadiness } from '../wire/readiness.js';

export const readinessOperations: readonly Operation[] = [
  venueOperation({
    id: 'getReadiness',
    method: 'GET',
    path: '/readiness/:address',
    auth: 'none',
    summary: 'Can this address trade, through either door, and which step is missing?',
    params: ReadinessPath,
    reply: TraderReadiness,
    errors: ['UPSTREAM_UNAVAILABLE', 'NOT_READY'],
    handle: ({ gateway, venue, params }) => traderReadiness(gateway, venue, params.address),
  }),
];
