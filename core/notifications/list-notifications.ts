import type { Executed } from '../domain/chain-event.js';
import { decimal, formatDecimal } from '../domain/decimal.js';
import { symbolOf } from '../domain/market.js';
import type { Order } from '../domain/order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import type { ForeignNotice, MovedStop, Notice } from '../ports/stores/notifications.js';
import { currentDelegate, freshDelegate } from '../access/delegation.js';
import { GatewayError } from '../errors.js';

/** Per chain; older ones are in the order and fill history. */
const RECENT = 100;

/** Notifications of a wallet on every chain, newest first, without dismissed ones. */
export async function listNotifications(gateway: Gateway, address: Address): Promise<Notification[]> {
  const own = Promise.all([...gateway.venues.values()].map((venue) => ofVenue(gateway, venue, address)));
  const [perChain, foreign] = await Promise.all([own, gateway.notices?.list(address) ?? []]);
  const all = [...perChain.flat(), ...foreign.map(ofBackend)];
  const dismissed = await gateway.store.notifications.dismissed(
    address,
    all.map(({ id }) => id),
  );
  return all.filter(({ id }) => !dismissed.has(id)).sort((a, b) => b.createdAt - a.createdAt || b.id - a.id);
}

/** Ignores ids that are not in the list, so that a client cannot fill the table with unknown ids. */
export async function dismissNotification(gateway: Gateway, trader: Address, id: number): Promise<void> {
  const listed = await listNotifications(gateway, trader);
  if (listed.some((notification) => notification.id === id)) await gateway.store.notifications.dismiss(trader, id, gateway.clock.now());
}

async function ofVenue(gateway: Gateway, venue: Venue, trader: Address): Promise<Notification[]> {
  const { slug } = venue.definition;
  await noticeOwn(gateway, venue, trader);
  const [orders, fills, notices, moved] = await Promise.all([
    gateway.store.account.endedOrders(slug, trader, RECENT),
    gateway.store.account.fillsBefore(slug, trader, null, RECENT),
    gateway.store.notifications.notices(slug, trader, RECENT),
    gateway.store.notifications.movedStops(slug, trader, RECENT),
  ]);
  return [
    ...orders.flatMap(({ id, order }) => ofOrder(venue, id, order) ?? []),
    ...fills.flatMap(({ id, executed }) => ofFill(venue, id, executed) ?? []),
    ...notices.map((notice) => ofNotice(venue, notice)),
    ...moved.map((stop) => ofMovedStop(venue, stop)),
  ];
}

const ofBackend = ({ id, ...rest }: ForeignNotice): Notification => ({
  ...rest,
  id: notificationId(BigInt(id), 'backend'),
  kind: 'backend',
  market: null,
  orderId: null,
});

const ORDER_KINDS = { filled: 'order_filled', rejected: 'order_rejected', timed_out: 'order_timed_out' } as const satisfies Partial<
  Record<Order['status'], NotificationKind>
>;

function ofOrder(venue: Venue, id: bigint, order: Order): Notification | null {
  const kind = order.status in ORDER_KINDS ? ORDER_KINDS[order.status as keyof typeof ORDER_KINDS] : null;
  if (kind === null) return null;
  const market = marketOf(venue, order.pairIndex);
  const name = `Your ${order.type} order ${id.toString()}${market === null ? '' : ` on ${market}`}`;
  const texts = {
    order_filled: { title: 'Order filled', body: `${name} was filled.` },
    order_rejected: { title: 'Order rejected', body: `${name} was rejected by the contracts: ${order.reason ?? 'OTHER'}.` },
    order_timed_out: { title: 'Order timed out', body: `${name} got no answer in time; its collateral can be reclaimed.` },
  } as const;
  return { id: notificationId(id, kind), kind, ...texts[kind], market, orderId: id.toString(), createdAt: order.updatedAt };
}

const FILL_KINDS = { liquidation: 'position_liquidated', sl: 'stop_loss_hit', tp: 'take_profit_hit' } as const satisfies Partial<
  Record<Executed['action'], NotificationKind>
>;

function ofFill(venue: Venue, id: bigint, { action, terms, place }: Executed): Notification | null {
  const kind = action in FILL_KINDS ? FILL_KINDS[action as keyof typeof FILL_KINDS] : null;
  if (kind === null) return null;
  const market = marketOf(venue, terms.pairIndex);
  const name = `Your ${terms.long ? 'long' : 'short'} position${market === null ? '' : ` on ${market}`}`;
  const texts = {
    position_liquidated: { title: 'Position liquidated', body: `${name} was liquidated.` },
    stop_loss_hit: { title: 'Stop loss hit', body: `${name} was closed at its stop loss.` },
    take_profit_hit: { title: 'Take profit hit', body: `${name} was closed at its take profit.` },
  } as const;
  return { id: notificationId(id, kind), kind, ...texts[kind], market, orderId: null, createdAt: place.at };
}

function ofNotice(venue: Venue, { id, kind, about, at }: Notice): Notification {
  const chain = venue.definition.name;
  const texts = {
    delegation_changed: {
      title: 'Trading delegate changed',
      body:
        about === null ? `Your wallet has no trading delegate on ${chain} any more.` : `Your trading delegate on ${chain} is now ${about}.`,
    },
    agent_expiring: { title: 'Agent expires soon', body: `The authorisation of agent ${about ?? ''} on ${chain} ends within 24 hours.` },
  } as const;
  return { id: notificationId(id, kind), kind, ...texts[kind], market: null, orderId: null, createdAt: at };
}

const PRICE_SCALE = 10;

function ofMovedStop(venue: Venue, { oid, pairIndex, asked, kept, at }: MovedStop): Notification {
  const market = marketOf(venue, pairIndex);
  const price = (units: bigint): string => formatDecimal(decimal(units, PRICE_SCALE));
  const name = `Your stop loss ${oid.toString()}${market === null ? '' : ` on ${market}`}`;
  const body = `${name} was asked for at ${price(asked)} and stands at ${price(kept)}: at the leverage of its position the contract keeps none further away, where liquidation would come first.`;
  const kind = 'stop_loss_moved';
  return { id: notificationId(oid, kind), kind, title: 'Stop loss moved', body, market, orderId: oid.toString(), createdAt: at };
}

function marketOf({ feed }: Venue, pairIndex: number): string | null {
  try {
    const pair = feed.config().pairs[pairIndex];
    return pair ? symbolOf(pair) : null;
  } catch {
    return null; // no parameters yet; the notification is shown without its market
  }
}

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
type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

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

const SOON_MS = 24 * 3_600_000;

/**
 * Records notices that no log reports: a changed delegate, an agent about to expire. Runs when the account's notifications are read, and only
 * for traders with an agent here, so that requests for other addresses cost no RPC call.
 */
export async function noticeOwn({ store, clock }: Gateway, venue: Venue, trader: Address): Promise<void> {
  const { slug } = venue.definition;
  const now = clock.now();
  const agents = (await store.access.listAgents(slug, trader)).filter(({ revokedAt }) => revokedAt === null);
  if (agents.length === 0) return;
  const expiring = agents.flatMap(({ agent, scope: { expiresAt } }) =>
    expiresAt !== null && expiresAt > now && expiresAt - now <= SOON_MS ? [{ agent, expiresAt }] : [],
  );
  await store.notifications.noteExpiring(slug, trader, expiring, now);
  await noticeDelegate(store, venue, trader, now);
}

/** The cached delegate may be older than what another replica stored, so a notice is written only after a fresh read. */
async function noticeDelegate({ notifications }: Gateway['store'], venue: Venue, trader: Address, now: number): Promise<void> {
  const { slug } = venue.definition;
  try {
    if ((await currentDelegate(venue, trader)) === (await notifications.delegateSeen(slug, trader))) return;
    await notifications.noteDelegate(slug, trader, await freshDelegate(venue, trader), now);
  } catch (error) {
    // An unavailable node only delays this notice; the other notifications are still served.
    if (!(error instanceof GatewayError) || error.code !== 'UPSTREAM_UNAVAILABLE') throw error;
  }
}
