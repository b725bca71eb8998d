/** Kinds of notifications; `backend` comes from the protocol's own service. Only on-chain facts, because any client may read them. The index is part of every id, so the order is fixed. */
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
  Number(source * IDS_PER_SOURCE + BigInt(NOTIFICATION_KINDS.indexOf(kind)));

/** Greater than the number of kinds and never changed: dismissals are stored by id. */
const IDS_PER_SOURCE = 16n;
