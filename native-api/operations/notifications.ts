import { z } from 'zod';
import type { Gateway } from '../../core/gateway.js';
import { dismissNotification, listNotifications } from '../../core/notifications/list-notifications.js';
import type { Address } from '../../core/types.js';
import { gatewayOperation, venueOperation, type Operation } from '../operation.js';
import { Dismissed, DismissPath, NotificationsReply } from '../wire/notifications.js';

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
