import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import { placeOffChain, type OwnEvent } from '../../domain/chain-event.js';
import { foldOrder } from '../../domain/fold-order.js';
import { shapeOf } from '../../domain/order-shape.js';
import type { Order } from '../../domain/order.js';
import type { Draft, HandedOut, KnownOrder, Placed } from '../../orders/orders-store.js';
import type { Address, Hex } from '../../ports.js';
import type { PlacedJob, RelayedOrder, RelayJob } from '../../relay/relay-store.js';
import type { OpeningGuard } from '../../relay/rules-store.js';
import type { StoredOrder } from '../../tracking/tracking-store.js';
import { tryAgain } from './faults.js';
import { askAfter, type Statement, type Values } from './in-one-go.js';
import { appendJournal } from './journal-rows.js';
import { knownOrders } from './known-orders.js';
import { lockOrders, moveOrders, timesHappened } from './move-order.js';
import {
  AROUND,
  aroundValues,
  PLACE_ALONE,
  PLACE_RELAYED,
  placeValues,
  relayedValues,
  unsentOf,
  type AroundRow,
  type PlaceRow,
  type PlaceStatements,
  type UnruledRow,
} from './place-statement.js';
import { guardOpening, isUnbound } from './rules-guard.js';
import { RULES_OF } from './rules-sql.js';
import { createSpendStore } from './spend-store.js';

/** Every rule that only holds if nobody else writes meanwhile: one clientId one order, so many unsent, so much a day. */

export interface PlaceParts {
  readonly db: Knex;
  readonly transaction: <Result>(work: (trx: Knex.Transaction) => Promise<Result>) => Promise<Result>;
}

/** One round trip, in which no other order of the trader is looked at or written; more only where the operator has set rules. */
export const placeOrder = async (parts: PlaceParts, draft: Draft): Promise<Placed> =>
  (await place(parts, placingOf(draft, PLACE_ALONE, {}))).placed;

/** The same with what relays it. */
export async function placeRelayed(parts: PlaceParts, relayed: RelayedOrder): Promise<PlacedJob> {
  const { draft } = relayed;
  const { placed, job } = await place(parts, placingOf(draft, PLACE_RELAYED, relayedValues(relayed)));
  if (placed.kind !== 'placed') return placed;
  if (job === null) throw new Error('an order was placed without what sends it');
  return { ...placed, job: queuedJob(relayed, job, placed.stored.id) };
}

const queuedJob = ({ draft, request, record }: RelayedOrder, id: bigint, orderId: bigint): RelayJob => ({
  ...request,
  chain: draft.chain,
  id,
  orderId,
  state: 'queued',
  nonce: null,
  attempts: [],
  createdAt: record.createdAt,
  acceptedAt: null,
  note: null,
  mined: null,
});

interface Placing {
  readonly draft: Draft;
  readonly statements: PlaceStatements;
  readonly values: Values;
  /** What the first event makes of it. */
  readonly stored: Order;
}

function placingOf(draft: Draft, statements: PlaceStatements, beside: Values): Placing {
  const { order, steps } = draft;
  const event: OwnEvent = { kind: 'prepared', order, ...(steps && { steps }), ...nowhere(order) };
  const stored = foldOrder(null, event);
  if (stored === null) throw new Error('an order that is prepared is one');
  return { draft, statements, stored, values: { ...placeValues(draft, event, stored), ...beside } };
}

interface Outcome {
  readonly placed: Placed;
  readonly job: bigint | null;
}

async function place({ db, transaction }: PlaceParts, placing: Placing): Promise<Outcome> {
  const { draft, statements } = placing;
  const { guard } = draft;
  if (!guard) return tryAgain(async () => outcomeOf(db, placing, (await askLocked<PlaceRow>(db, statements.place, placing))[0]));
  const isFree = isUnbound(guard, whoseOf(draft));
  const unruled = isFree ? await tryAgain(() => placeUnruled(db, placing)) : null;
  return unruled ?? transaction((trx) => placeGuarded(trx, placing, guard));
}

const askLocked = <Row>(db: Knex, asked: Statement, placing: Placing): Promise<Row[]> =>
  askAfter<Row>(db, { text: LOCK_FIRST, values: [lockName(placing.draft)] }, asked, placing.values);

/** Where the operator asks nothing of anybody, which the statement makes sure of; null where he does, and nothing is placed. */
async function placeUnruled(db: Knex, placing: Placing): Promise<Outcome | null> {
  const [row] = await askLocked<UnruledRow>(db, placing.statements.unruled, placing);
  const isRuled = row !== undefined && row.rules !== null && row.known === null && row.unsent < placing.draft.maxUnsent;
  return isRuled ? null : outcomeOf(db, placing, row);
}

/** The operator's rules are judged by what is asked just before; the trader is locked, so it holds until the order is stored. */
async function placeGuarded(trx: Knex.Transaction, placing: Placing, guard: OpeningGuard): Promise<Outcome> {
  const { draft, statements, values } = placing;
  await lockTrader(trx, draft);
  const { rows } = await trx.raw<{ rows: [AroundRow & { readonly rules: string | null }] }>(LOOK_FOR_RULES, aroundValues(draft) as never);
  const [{ known, unsent, rules }] = rows;
  if (known === null && unsent < draft.maxUnsent) await guardOpening(trx, whoseOf(draft), guard, rules);
  const placed = await trx.raw<{ rows: PlaceRow[] }>(statements.place.named, values as never);
  return outcomeOf(trx, placing, placed.rows[0]);
}

const outcomeOf = async (db: Knex, { draft, stored }: Placing, row: PlaceRow | undefined): Promise<Outcome> => ({
  placed: await answerOf(db, draft, stored, row),
  job: row?.job ?? null,
});

const whoseOf = ({ chain, order: { trader } }: Draft) => ({ chain, trader });

const LOOK_FOR_RULES = `select ${AROUND}, ${RULES_OF}`;

const nowhere = ({ trader, createdAt }: Order) => ({ trader, orderKey: null, tradeIndex: null, place: placeOffChain(createdAt) });

/** Of an order that nobody has sent. */
const UNSEEN = { orderKey: null, repeatOf: null, formerData: [], hashes: [] } as const;

async function answerOf(db: Knex, draft: Draft, order: Order, row: PlaceRow | undefined): Promise<Placed> {
  const { chain, agent, maxUnsent, spend, fingerprint, tag, data, gas } = draft;
  if (row === undefined) throw new Error('the database says nothing of an order that was to be placed');
  const { id, known, unsent, earliest, is_placed: isPlaced } = row;
  if (known !== null) return { kind: 'known', stored: await knownById(db, chain, known) };
  if (unsent >= maxUnsent) return { kind: 'too-many', earliestExpiry: Number(earliest ?? order.createdAt) };
  if (!isPlaced && spend !== null) return { kind: 'over-cap', spentUsd: await createSpendStore(db).spent(spend.account) };
  if (!isPlaced) throw new Error('an order that nothing speaks against was not placed');
  const transaction = { tag: tag.toLowerCase() as Hex, data, gas };
  return { kind: 'placed', stored: { ...UNSEEN, id, order, agent, fingerprint, transaction } };
}

async function reserve(trx: Knex.Transaction, id: bigint, spend: NonNullable<Draft['spend']>): Promise<Placed | null> {
  const store = createSpendStore(trx);
  const isReserved = await store.reserve({ ...spend.account, id: id.toString(), usd: spend.usd }, spend.capUsd);
  return isReserved ? null : { kind: 'over-cap', spentUsd: await store.spent(spend.account) };
}

export async function renewOrder(trx: Knex.Transaction, id: bigint, draft: Draft): Promise<Placed | { readonly kind: 'moved-on' }> {
  const { chain, order } = draft;
  await lockTrader(trx, draft);
  const [row] = await lockOrders(trx, chain, 'id = :id and trader = :trader for update', { id, trader: order.trader });
  if (row?.order.status !== 'expired' || row.isSent) return { kind: 'moved-on' };
  return handOut(trx, draft, { row, kind: 'renewed' });
}

export async function knownByClientId(db: Knex, chain: ChainSlug, trader: Address, clientId: string) {
  return (await knownOrders(db, chain, 'trader = :trader and client_id = :clientId', { trader, clientId }))[0] ?? null;
}

interface Handing {
  readonly row: StoredOrder;
  readonly kind: 'renewed';
}

async function handOut(trx: Knex.Transaction, draft: Draft, { row, kind }: Handing): Promise<Placed> {
  const { chain, agent, order, fingerprint, spend, maxUnsent, steps } = draft;
  const at = order.createdAt;
  const unsent = await countUnsent(trx, chain, agent, at);
  if (unsent.count >= maxUnsent) return { kind: 'too-many', earliestExpiry: unsent.earliestExpiry };
  const overCap = spend === null ? null : await reserve(trx, row.id, spend);
  if (overCap !== null) return overCap;
  const timesOf = await timesHappened(trx, [row.id], kind);
  const happened = { kind, order, ...(steps && { steps }), number: timesOf(row.id) };
  const told = await moveOrders(trx, chain, [{ row, happened }], at);
  await trx('orders').where({ chain, id: row.id }).update({ fingerprint, agent });
  await keepTag(trx, chain, row.id, { purpose: 'place', transaction: draft, order });
  await appendJournal(trx, chain, at, told);
  return { kind: 'placed', stored: await knownById(trx, chain, row.id) };
}

async function knownById(trx: Knex, chain: ChainSlug, id: bigint): Promise<KnownOrder> {
  const [stored] = await knownOrders(trx, chain, 'id = :id', { id });
  if (!stored) throw new Error(`order ${id} was stored and is not there`);
  return stored;
}

export async function keepTag(
  trx: Knex,
  chain: ChainSlug,
  id: bigint,
  given: { readonly purpose: 'place' | 'replace'; readonly transaction: HandedOut; readonly order: Order },
): Promise<void> {
  const { tag, data, gas } = given.transaction;
  const row = { chain, tag: tag.toLowerCase(), order_id: id, purpose: given.purpose, shape: shapeOf(given.order), data, gas };
  await trx('order_tags').insert(row).onConflict(['chain', 'tag']).ignore();
}

/** Orders of one trader are prepared one after the other, on whichever replica. */
const lockName = ({ chain, order }: Draft): string => `diamond-gateway orders ${chain} ${order.trader}`;
const LOCK = 'pg_advisory_xact_lock(hashtextextended($1, 0))';
/** The lock is never null, so nothing is answered. */
const LOCK_FIRST = `select 1 where ${LOCK} is null`;
const lockTrader = (trx: Knex.Transaction, draft: Draft): Knex.Raw => trx.raw(`select ${LOCK.replace('$1', '?')}`, [lockName(draft)]);

async function countUnsent(trx: Knex.Transaction, chain: ChainSlug, agent: Address, now: number) {
  const { rows } = await trx.raw<{ rows: [{ count: number; earliest: bigint | null }] }>(
    `select count(*)::int as count, min(expires_at) as earliest from orders
     where ${unsentOf}`,
    { chain, agent, now },
  );
  return { count: rows[0].count, earliestExpiry: Number(rows[0].earliest ?? now) };
}
