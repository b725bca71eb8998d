import type { Knex } from 'knex';
import { randomId, type RandomBytes } from '../../ports/clock.js';
import type { Alert, AlertDelivery, AlertKind, AlertName, AlertStore } from '../../ports/stores/alerts.js';

interface AlertRow {
  id: bigint;
  kind: AlertKind;
  chain: string;
  subject: string;
  message: string;
  details: Record<string, unknown>;
  opened_at: bigint;
  expires_at: bigint | null;
  recovered_at: bigint | null;
}

interface DeliveryRow {
  id: bigint;
  event_id: string;
  alert_id: bigint;
  event: AlertDelivery['event'];
  body: string;
  state: AlertDelivery['state'];
  attempts: number;
  created_at: bigint;
  due_at: bigint;
  last_error: string | null;
  delivered_at: bigint | null;
}

export function createAlertStore(db: Knex, randomBytes: RandomBytes): AlertStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown> = {}): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;
  const newEvent = (): string => randomId(randomBytes);

  return {
    async raise({ details, ...facts }, { at, isSent, repeatMs }) {
      await rows(RAISE, { ...facts, details: JSON.stringify(details), at, isSent, eventId: newEvent() });
      if (repeatMs !== null) await rows(REPEAT, { ...nameOf(facts), at, isSent, repeatMs, eventId: newEvent() });
    },
    async recover(name, { at, isSent, message }) {
      return (await rows(RECOVER, { ...nameOf(name), at, isSent, message, eventId: newEvent() })).length > 0;
    },
    open: async () => (await rows<AlertRow>(`select ${ALERT} from alerts where recovered_at is null order by id`)).map(readAlert),
    recovered: async (limit) =>
      (await rows<AlertRow>(`select ${ALERT} from alerts where recovered_at is not null order by id desc limit :limit`, { limit })).map(
        readAlert,
      ),
    async lead(holder, at, until) {
      const found = await rows<AlertRow | { readonly id: null }>(LEAD, { holder, at, until });
      return found.length === 0 ? null : found.flatMap((row) => (row.id === null ? [] : [readAlert(row)]));
    },
    claim: async (at, until, limit) =>
      (await rows<DeliveryRow>(CLAIM, { at, until, limit })).map(readDelivery).sort((a, b) => Number(a.id - b.id)),
    async delivered(id, at) {
      await rows(`update alert_deliveries set state = 'delivered', delivered_at = :at, last_error = null where id = :id`, { id, at });
    },
    async failed(id, error, dueAt) {
      await rows(FAILED, { id, error, dueAt });
    },
    undelivered: async (limit) => (await rows<DeliveryRow>(UNDELIVERED, { limit })).map(readDelivery),
    lastDelivered: async (limit) => (await rows<DeliveryRow>(LAST_DELIVERED, { limit })).map(readDelivery),
    async retry(id, at) {
      const [row] = await rows<DeliveryRow>(RETRY, { id, at });
      return row ? readDelivery(row) : null;
    },
  };
}

const nameOf = ({ kind, chain, subject }: AlertName): AlertName => ({ kind, chain, subject });

const ALERT = 'id, kind, chain, subject, message, details, opened_at, expires_at, recovered_at';
const DELIVERY = 'id, event_id, alert_id, event, body, state, attempts, created_at, due_at, last_error, delivered_at';

const readAlert = ({ opened_at, expires_at, recovered_at, ...row }: AlertRow): Alert => ({
  ...row,
  openedAt: Number(opened_at),
  expiresAt: expires_at === null ? null : Number(expires_at),
  recoveredAt: recovered_at === null ? null : Number(recovered_at),
});

const readDelivery = (row: DeliveryRow): AlertDelivery => ({
  id: row.id,
  eventId: row.event_id,
  alertId: row.alert_id,
  event: row.event,
  body: row.body,
  state: row.state,
  attempts: row.attempts,
  createdAt: Number(row.created_at),
  dueAt: Number(row.due_at),
  lastError: row.last_error,
  deliveredAt: row.delivered_at === null ? null : Number(row.delivered_at),
});

/** The webhook body. The event id is part of the signed body, so that an old event cannot be replayed as a new one. */
const insertDelivery = (event: string): string => `
  insert into alert_deliveries (event_id, alert_id, event, body, created_at, due_at)
  select event_id, id, ${event}::text, jsonb_build_object(
    'id', event_id, 'event', ${event}::text, 'at', :at::bigint,
    'alert', jsonb_build_object('id', id::text, 'kind', kind, 'chain', chain, 'subject', subject, 'message', message, 'details', details,
      'openedAt', opened_at, 'recoveredAt', recovered_at))::text, :at::bigint, :at::bigint
  from (select :eventId::uuid as event_id, seen.* from seen) as delivery`;

/** Of two replicas that raise the same alert, one opens it and the other updates it; only a new row has xmax = 0. */
const RAISE = `
  with seen as (
    insert into alerts (kind, chain, subject, message, details, opened_at, notified_at, expires_at)
    values (:kind, :chain, :subject, :message, :details::jsonb, :at, :at, :expiresAt)
    on conflict (kind, chain, subject) where recovered_at is null do update
    set message = excluded.message, details = excluded.details, expires_at = excluded.expires_at
    returning *, xmax = 0 as is_new
  )
  ${insertDelivery(`'opened'`)} where :isSent::boolean and is_new`;

/** The row lock lets one replica repeat the alert; the others find `notified_at` updated. */
const REPEAT = `
  with seen as (
    update alerts set notified_at = :at
    where kind = :kind and chain = :chain and subject = :subject and recovered_at is null and notified_at <= :at::bigint - :repeatMs::bigint
    returning *
  )
  ${insertDelivery(`'repeated'`)} where :isSent::boolean`;

const RECOVER = `
  with seen as (
    update alerts set recovered_at = :at, message = :message
    where kind = :kind and chain = :chain and subject = :subject and recovered_at is null returning *
  ), sent as (${insertDelivery(`'recovered'`)} where :isSent::boolean)
  select id from seen`;

/** No row: another leads. The leader gets a row for each open alert, or one without an alert. */
const LEAD = `
  with led as (
    insert into alert_lease as lease (holder, until) values (:holder, :until)
    on conflict (singleton) do update set holder = excluded.holder, until = excluded.until
    where lease.holder = excluded.holder or lease.until <= :at returning 1
  )
  select ${ALERT} from led left join alerts on recovered_at is null order by id`;

const CLAIM = `
  update alert_deliveries set attempts = attempts + 1, due_at = :until
  where id in (
    select id from alert_deliveries due
    where state = 'pending' and due_at <= :at and not exists (
      select from alert_deliveries earlier
      where earlier.alert_id = due.alert_id and earlier.state = 'pending' and earlier.id < due.id)
    order by id limit :limit for update skip locked)
  returning ${DELIVERY}`;

/** Each state from its own index, so that delivered rows are never read. */
const UNDELIVERED = `
  (select ${DELIVERY} from alert_deliveries where state = 'pending' order by id desc limit :limit)
  union all (select ${DELIVERY} from alert_deliveries where state = 'dead' order by id desc limit :limit)
  order by id desc`;

/** The newest rows of the table are nearly all delivered, so this reads few others. */
const LAST_DELIVERED = `select ${DELIVERY} from alert_deliveries where state = 'delivered' order by id desc limit :limit`;

const FAILED = `
  update alert_deliveries set last_error = :error, due_at = coalesce(:dueAt::bigint, due_at),
    state = case when :dueAt::bigint is null then 'dead' else state end
  where id = :id and state = 'pending'`;

const RETRY = `
  update alert_deliveries set state = 'pending', attempts = 0, due_at = :at where id = :id and state = 'dead' returning ${DELIVERY}`;
