/** What an account is told unasked; `backend` is what the protocol's own service says. Only facts of the chain, because anybody may read them; numbers below are part of every id. */
export const NOTIFICATION_KINDS = [
  'order_filled',
  'order_rejected',
  'order_timed_out',
  'position_liquidated',
  'stop_loss_hit',
  'take_profit_hit',
  'delegation_changed',
  'agent_expiring',
  'backend',
  'stop_loss_moved',
] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

export interface Notification {
  readonly id: number;
  readonly kind: NotificationKind;
  readonly title: string;
  readonly body: string;
  readonly market: string | null;
  readonly orderId: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
}

/**
 * Most notifications are not stored a second time: they follow from stored orders and fills, so a reorganisation corrects them as it
 * corrects those. The id follows from the source's id and the kind, and is as stable as both.
 */
export const notificationId = (source: bigint, kind: NotificationKind): number =>
  Number(source * KIND_ROOM + BigInt(NOTIFICATION_KINDS.indexOf(kind)));

/** More than there are kinds, and never changed: a new kind must not give new ids to what was put away under the old ones. */
const KIND_ROOM = 16n;
