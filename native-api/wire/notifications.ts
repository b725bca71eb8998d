import { z } from 'zod';
import { NOTIFICATION_KINDS } from '../../core/notifications/list-notifications.js';
import { EpochMs } from './schema.js';

export const NotificationItem = z
  .object({
    id: z.int(),
    kind: z.enum(NOTIFICATION_KINDS),
    title: z.string(),
    body: z.string(),
    market: z.string().nullable(),
    orderId: z.string().nullable(),
    createdAt: EpochMs,
  })
  .meta({ id: 'Notification' });

/** This endpoint has its own error shape, for compatibility with older clients. */
export const NotificationsReply = z.union([
  z.object({ success: z.literal(true), notifications: z.array(NotificationItem) }).meta({ id: 'Notifications' }),
  z.object({ success: z.literal(false), error: z.string(), message: z.string() }).meta({ id: 'NotificationsError' }),
]);

export const DismissPath = z.object({
  address: z.string(),
  id: z.string().regex(/^[1-9]\d{0,15}$/, 'must be the id of a notification'),
});
export const Dismissed = z.object({ success: z.literal(true) }).meta({ id: 'Dismissed' });
