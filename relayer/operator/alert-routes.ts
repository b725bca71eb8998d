import { z } from 'zod';
import { GatewayError } from '../../core/errors.js';
import { operatorRoute } from './operator-route.js';

const RECOVERED_SHOWN = 100;
const DELIVERIES_SHOWN = 200;
const DELIVERED_SHOWN = 50;

const DeliveryId = z
  .string()
  .regex(/^[1-9]\d{0,17}$/, 'must be the id of a delivery')
  .transform(BigInt);

/** Open and past alerts, and their messages to the alert receiver. */
export const ALERT_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/alerts',
    async handle({ gateway: { store }, alerting }) {
      const [open, recovered, undelivered, delivered] = await Promise.all([
        store.alerts.open(),
        store.alerts.recovered(RECOVERED_SHOWN),
        store.alerts.undelivered(DELIVERIES_SHOWN),
        store.alerts.lastDelivered(DELIVERED_SHOWN),
      ]);
      return {
        /** False without a webhook: alerts are stored and shown only. */
        arePosted: alerting.webhook !== null,
        open,
        recovered,
        delivered,
        pending: undelivered.filter(({ state }) => state === 'pending'),
        dead: undelivered.filter(({ state }) => state === 'dead'),
      };
    },
  }),
  operatorRoute({
    method: 'POST',
    path: '/alerts/:id/retry',
    params: z.object({ id: DeliveryId }),
    async handle({ gateway: { store, clock }, params: { id } }) {
      const delivery = await store.alerts.retry(id, clock.now());
      if (delivery === null) throw new GatewayError('UNSUPPORTED', { reason: `No delivery ${id} has been given up.` });
      return delivery;
    },
  }),
];
