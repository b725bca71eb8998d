import type { Knex } from 'knex';
import { placeOffChain, type OwnEvent } from '../../domain/chain-event.js';
import { foldOrder } from '../../domain/order-machine.js';
import type { Order } from '../../domain/order.js';
import type { Draft, HandedOut, KnownOrder, NotPlaced, Placed } from '../../ports/stores/orders.js';
import type { Address, Hex } from '../../types.js';
import type { BotOrder, PlacedOrder, RelayedOrder, RelayJob } from '../../ports/stores/relay.js';
import type { OpeningGuard } from '../../ports/stores/rules.js';
import { OWE, oweValues } from './facade-store.js';
import { EXTEND, LIVE_CLOIDS, RECORD_CHILD } from './exchange-sql.js';
import { childValues, extendValues, RECORD, recordValues } from './exchange-store.js';
import { tryAgain } from './faults.js';
import {
  AROUND,
  aroundValues,
  LOOKS_FROM,
  placeAlone,
  placeWithJob,
  placeValues,
  relayedValues,
  type AroundRow,
  type PlaceRow,
  type PlaceStatements,
  type SingleOrder,
  type UnruledRow,
} from './place-statement.js';
import { queueValues, readJob, type JobRow } from './relay-rows.js';
import { QUEUE } from './relay-sql.js';
import { guardOpening, isUnbound, RULES_OF } from './rules-store.js';
import { addTriggers, type NewTrigger } from './trigger-store.js';
import type { StatementBatcher } from './statement-batcher.js';
import { createSpendStore } from './spend-store.js';
import {
  askWithin,
  inSteps,
  inTransaction,
  lock,
  LOCK,
  ordersLock,
  runAll,
  statement,
  type AskWithin,
  type Statement,
  type Values,
} from './statement.js';
import type { ChainSlug } from '../../chains/chains.js';
import { ORDER_COLUMNS, storedOrder, type OrderRow } from './tracking-rows.js';

/** Checks that must be atomic with storing the order: unique clientId, limit of unsent orders, daily spending cap. */

export interface PlaceParts {
  readonly db: Knex;
  readonly batcher: StatementBatcher;
}

/** An order was refused: the transaction of all that belong to it is rolled back. */
class RefusedLeg extends Error {
  readonly at: number;
  readonly why: NotPlaced;

  constructor(at: number, why: NotPlaced) {
    super(`leg ${at} of an order is ${why.kind}`);
    this.at = at;
    this.why = why;
  }
}

/** One round trip under the trader's lock; more only for several orders, or where the operator has set rules. */
export async function placeOrders(parts: PlaceParts, draft: Draft, others: readonly Draft[]): Promise<Placed> {
  if (others.length === 0) return (await place(parts, placingOf(draft, placeAlone(draft), {}))).placed;
  const all = async (trx: Knex.Transaction): Promise<Placed> => {
    const stored = await placeLeg(trx, draft, 0);
    return { kind: 'placed', stored, others: await placeOthers(trx, others) };
  };
  return orRefused(() => inTransaction(parts.db, all));
}

export async function placeOthers(trx: Knex.Transaction, others: readonly Draft[]): Promise<KnownOrder[]> {
  const stored: KnownOrder[] = [];
  for (const [at, other] of others.entries()) stored.push(await placeLeg(trx, other, at + 1));
  return stored;
}

export async function orRefused<Result>(work: () => Promise<Result>): Promise<Result | NotPlaced> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RefusedLeg) return error.why;
    throw error;
  }
}

/** Most orders are one request with its record and its job: a single statement stores all three. */
export async function placeRelayed(parts: PlaceParts, relayed: RelayedOrder): Promise<PlacedOrder> {
  const single = singleOf(relayed);
  if (single !== null) return placeSingle(parts, single);
  try {
    return await inTransaction(parts.db, (trx) => storeRelayed(trx, relayed));
  } catch (error) {
    if (error instanceof RefusedLeg) return { kind: 'refused', at: error.at, why: error.why };
    throw error;
  }
}

function singleOf({ legs: [only, ...others], record }: RelayedOrder): SingleOrder | null {
  if (!only?.draft || only.request === null || only.owed || others.length > 0) return null;
  const [leg] = record?.legs ?? [];
  if (record === null || leg === undefined || record.children.length > 0) return null;
  const { draft, request } = only;
  return { draft, request, record, leg, continues: (record.isContinued ? record.oid : undefined) ?? null };
}

async function placeSingle(parts: PlaceParts, single: SingleOrder): Promise<PlacedOrder> {
  const { draft, request, record, continues } = single;
  const { placed, job } = await place(parts, placingOf(draft, placeWithJob(draft), relayedValues(single)));
  if (placed.kind !== 'placed') return { kind: 'refused', at: 0, why: placed };
  if (job === null) throw new Error('an order was placed without what sends it');
  const { stored } = placed;
  const queued: RelayJob = {
    ...request,
    chain: draft.chain,
    id: job,
    orderId: stored.id,
    state: 'queued',
    nonce: null,
    attempts: [],
    createdAt: record.createdAt,
    acceptedAt: null,
    note: null,
    mined: null,
  };
  return { kind: 'placed', oid: continues ?? stored.id, orders: [stored], jobs: [queued] };
}

/** Every leg is checked as if it came alone, under the trader's lock, and sees the legs before it. */
async function storeRelayed(trx: Knex.Transaction, { legs, record }: RelayedOrder): Promise<PlacedOrder> {
  const orders: (KnownOrder | null)[] = [];
  for (const [at, { draft }] of legs.entries()) orders.push(draft === null ? null : await placeLeg(trx, draft, at));
  const first = legs.find(({ draft }) => draft !== null)?.draft;
  const oid = record?.oid ?? orders.find((order) => order !== null)?.id ?? (record && (await newId(trx, record)));
  const from = record ?? (first && { chain: first.chain, createdAt: first.order.createdAt });
  if (oid == null || !from) throw new TypeError('an order without an id');
  const ids = orders.map((order) => order?.id ?? null);
  if (record?.newCloids?.length) await requireFree(trx, record, record.newCloids);
  if (record !== null) await storeRecord(trx, record, legs, { oid, ids });
  const jobs: RelayJob[] = [];
  const triggers: NewTrigger[] = [];
  for (const [at, { request }] of legs.entries()) {
    if (request === null) continue;
    const values = queueValues({ ...request, chain: from.chain, orderId: ids[at] ?? null }, from.createdAt);
    const [row] = await run<JobRow>(trx, QUEUE.named, values);
    if (!row) throw new Error('The relay job was not stored.');
    jobs.push(readJob(row));
    const trigger = record?.triggers[at];
    if (trigger) triggers.push({ ...trigger, job: row.id });
  }
  if (record && triggers.length > 0) await runAll(trx, [addTriggers(record, oid, triggers)]);
  return { kind: 'placed', oid, orders, jobs };
}

/** Under the trader's lock, which a leg or the new id took: of several at once with one cloid the first has it. */
async function requireFree(trx: Knex.Transaction, { chain, trader }: BotOrder, cloids: readonly string[]): Promise<void> {
  if ((await run(trx, LIVE_CLOIDS.named, { chain, trader, cloids: [...cloids] })).length > 0)
    throw new RefusedLeg(0, { kind: 'cloid-taken' });
}

/** An order of triggers only: the trader's lock decides which of two at the same place is the later one. */
async function newId(trx: Knex.Transaction, { chain, trader }: BotOrder): Promise<bigint> {
  const [row] = await run<{ id: bigint }>(trx, NEW_ID, { name: ordersLock(chain, trader) });
  if (!row) throw new Error('the database gave no id');
  return row.id;
}

const NEW_ID = `select ${LOCK}, nextval('entity_ids') as id`;

const run = async <Row>(trx: Knex.Transaction, sql: string, values: Values): Promise<Row[]> =>
  (await trx.raw<{ rows: Row[] }>(sql, values as never)).rows;

/** The bot's order, its TP/SL, and the closing slippages to be set for them. */
async function storeRecord(
  trx: Knex.Transaction,
  { legs, children, isContinued, triggers: _triggers, ...record }: BotOrder,
  relayed: RelayedOrder['legs'],
  { oid, ids }: { readonly oid: bigint; readonly ids: readonly (bigint | null)[] },
): Promise<void> {
  const recorded = { ...record, oid, legs: legs.map((leg, at) => ({ ...leg, orderId: ids[at] ?? null })) };
  if (isContinued) await run(trx, EXTEND.named, extendValues(recorded));
  else if ((await run(trx, RECORD.named, recordValues(recorded))).length === 0) throw new Error(`another order has the id ${oid}`);
  const parentOrder = ids[legs.findIndex(({ role }) => role === 'open')] ?? null;
  if (parentOrder !== null) for (const child of children) await run(trx, RECORD_CHILD, childValues({ ...child, parentOrder }));
  const { chain, trader, agent, action, item } = record;
  for (const [at, { owed }] of relayed.entries()) {
    if (!owed) continue;
    const { closingSlippageP, dueAt } = owed;
    const whose = { chain, trader, agent, action, item, oid, orderId: ids[at] ?? null, tradeIndex: legs[at]?.tradeIndex ?? null };
    await run(trx, OWE, oweValues({ ...whose, closingSlippageP }, dueAt));
  }
}

async function placeLeg(trx: Knex.Transaction, draft: Draft, at: number): Promise<KnownOrder> {
  const placing = placingOf(draft, placeAlone(draft), {});
  const { placed } = await outcomeOf(trx, placing, await placeLocked(askWithin(trx), placing, draft.guard ?? null));
  if (placed.kind !== 'placed') throw new RefusedLeg(at, placed);
  return placed.stored;
}

interface Placing {
  readonly draft: Draft;
  readonly statements: PlaceStatements;
  readonly values: Values;
  /** The order after its first event. */
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

async function place(parts: PlaceParts, placing: Placing): Promise<Outcome> {
  const { draft, statements } = placing;
  const { guard } = draft;
  if (!guard) return tryAgain(async () => outcomeOf(parts.db, placing, (await askLocked<PlaceRow>(parts, statements.place, placing))[0]));
  const unruled = isUnbound(guard, whoseOf(draft)) ? await tryAgain(() => placeUnruled(parts, placing)) : null;
  if (unruled !== null) return unruled;
  return outcomeOf(parts.db, placing, await inSteps(parts.db, ({ askTogether }) => placeLocked(askTogether, placing, guard)));
}

const askLocked = <Row>({ batcher }: PlaceParts, asked: Statement, { draft, values }: Placing): Promise<Row[]> =>
  batcher.ask<Row>(asked, values, { order: lockName(draft), before: lock(lockName(draft)) });

const lockName = ({ chain, order }: Draft): string => ordersLock(chain, order.trader);

/** Places without rules, which the statement verifies; null, with nothing placed, where there are any. */
async function placeUnruled(parts: PlaceParts, placing: Placing): Promise<Outcome | null> {
  const [row] = await askLocked<UnruledRow>(parts, placing.statements.unruled, placing);
  const isRuled = row !== undefined && row.rules !== null && row.known === null && row.unsent < placing.draft.maxUnsent;
  return isRuled ? null : outcomeOf(parts.db, placing, row);
}

/** Checks the operator's rules on figures read under the trader's lock, so that they hold until the order is stored. */
async function placeLocked(ask: AskWithin, placing: Placing, guard: OpeningGuard | null): Promise<PlaceRow | undefined> {
  const { draft, statements, values } = placing;
  const locked = lock(lockName(draft));
  const placed = { asked: statements.place, values };
  if (guard === null) return (await ask<PlaceRow>(locked, placed))[0];
  const [around] = await ask<AroundRow & { readonly rules: string | null }>(locked, { asked: READ_RULES, values: aroundValues(draft) });
  if (around === undefined) throw new Error('the database says nothing of the rules for an order');
  // Decided here: what is in the way now may be gone for the next statement, which does not check the rules.
  if (around.known !== null || around.is_cloid_taken || around.unsent >= draft.maxUnsent) return { ...around, id: 0n, is_placed: false };
  await guardOpening(ask, whoseOf(draft), guard, around.rules);
  return (await ask<PlaceRow>(placed))[0];
}

const outcomeOf = async (db: Knex, { draft, stored }: Placing, row: PlaceRow | undefined): Promise<Outcome> => ({
  placed: await answerOf(db, draft, stored, row),
  job: row?.job ?? null,
});

const whoseOf = ({ chain, order: { trader } }: Draft) => ({ chain, trader });

const READ_RULES = statement(`select ${AROUND}, ${RULES_OF} from ${LOOKS_FROM}`);

const nowhere = ({ trader, createdAt }: Order) => ({ trader, orderKey: null, tradeIndex: null, place: placeOffChain(createdAt) });

/** An order that was not sent. */
const UNSEEN = { orderKey: null, repeatOf: null, formerData: [], hashes: [] } as const;

async function answerOf(db: Knex, draft: Draft, order: Order, row: PlaceRow | undefined): Promise<Placed> {
  const { chain, agent, maxUnsent, spend, fingerprint, tag, data, gas, funds } = draft;
  if (row === undefined) throw new Error('the database says nothing of an order that was to be placed');
  const { id, known, unsent, earliest, is_busy: isBusy, is_placed: isPlaced } = row;
  if (known !== null) return { kind: 'known', stored: await knownById(db, chain, known) };
  if (row.is_cloid_taken) return { kind: 'cloid-taken' };
  if (unsent >= maxUnsent) return { kind: 'too-many', earliestExpiry: Number(earliest ?? order.createdAt) };
  if (isBusy) return { kind: 'busy' };
  if (!isPlaced && funds) {
    const [takes, amount] = [BigInt(row.unmined_takes ?? 0), BigInt(row.unmined_amount ?? 0)];
    if (takes + funds.takes > funds.balance || amount + funds.amount > funds.allowance)
      return { kind: 'short', takes, amount, askedAt: Number(row.asked_at) };
  }
  if (!isPlaced && spend !== null) return { kind: 'over-cap', spentUsd: await createSpendStore(db).spent(spend.account) };
  if (!isPlaced) throw new Error('an order that nothing speaks against was not placed');
  const transaction = { tag: tag.toLowerCase() as Hex, data, gas };
  return { kind: 'placed', stored: { ...UNSEEN, id, order, agent, fingerprint, transaction }, others: [] };
}

interface KnownRow extends OrderRow {
  readonly fingerprint: Hex | null;
  readonly tag: Hex | null;
  readonly data: Hex | null;
  readonly gas: bigint | null;
  readonly former_data: readonly Hex[];
  readonly hashes: readonly Hex[];
}

const SELECT = `
  select ${ORDER_COLUMNS}, fingerprint, given.tag, given.data, given.gas,
    array(
      select data from order_tags where order_id = orders.id and purpose = 'place' and order_tags.id < given.tag_id order by order_tags.id
    ) as former_data,
    array(select hash from order_hashes where order_id = orders.id order by order_hashes.id) as hashes
  from orders left join lateral (
    select id as tag_id, tag, data, gas from order_tags where order_id = orders.id and purpose = 'place' order by order_tags.id desc limit 1
  ) given on true
  where orders.chain = :chain and orders.state is not null`;

/** Orders and how they got to the chain; `condition` must never contain client input. */
export async function knownOrders(
  db: Knex,
  chain: ChainSlug,
  condition: string,
  values: Readonly<Record<string, unknown>>,
): Promise<KnownOrder[]> {
  const { rows } = await db.raw<{ rows: KnownRow[] }>(`${SELECT} and ${condition}`, { chain, ...values } as never);
  return rows.flatMap((row): KnownOrder[] => {
    const { id, orderKey, agent, repeatOf, order } = storedOrder(row);
    const { fingerprint, hashes, former_data: formerData } = row;
    return order === null ? [] : [{ id, order, orderKey, agent, fingerprint, repeatOf, transaction: handedOut(row), formerData, hashes }];
  });
}

const handedOut = ({ tag, data, gas }: KnownRow): HandedOut | null => (tag === null || data === null ? null : { tag, data, gas });

export async function knownByClientId(db: Knex, chain: ChainSlug, trader: Address, clientId: string) {
  return (await knownOrders(db, chain, 'trader = :trader and client_id = :clientId', { trader, clientId }))[0] ?? null;
}

export async function knownById(db: Knex, chain: ChainSlug, id: bigint): Promise<KnownOrder> {
  const [stored] = await knownOrders(db, chain, 'id = :id', { id });
  if (!stored) throw new Error(`order ${id} was stored and is not there`);
  return stored;
}
