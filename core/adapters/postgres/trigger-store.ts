import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import { MAY_BE_SENT_MS } from '../../config/relayer.js';
import type { Level } from '../../domain/chain-event.js';
import { phaseOf, replacedAhead, type TriggerStatus } from '../../domain/trigger-phase.js';
import type { TriggerEndCause, TriggerPlace } from '../../domain/triggers.js';
import type { Trigger, TriggerStore, WantedTrigger } from '../../ports/stores/triggers.js';
import type { Address, Hex } from '../../types.js';
import { NOW_MS } from './migrations/migration.js';
import { ask, inSteps, statement, type Question, type Statement, type Values } from './statement.js';
import { createTriggerUnit, KINDS } from './trigger-fold.js';
import { CURSOR } from './tracking-sql.js';

export function createTriggerStore(db: Knex): TriggerStore {
  const read = async (chain: ChainSlug, trader: Address, asked: Statement, values: Values): Promise<Trigger[]> => {
    const find = (): Promise<Row[]> => ask<Row>(db, asked, { chain, trader, ...values });
    const rows = await find();
    if (rows.some(({ is_folded }) => is_folded)) return triggersOf(rows);
    await foldFirst(chain, trader);
    return triggersOf(await find());
  };

  /** A trader whose events an earlier release stored. The lock of the cursor keeps the indexer from folding at the same time. */
  const foldFirst = (chain: ChainSlug, trader: Address): Promise<void> =>
    inSteps(db, async (steps) => {
      await steps.ask(CURSOR, { chain });
      const unit = createTriggerUnit({
        rows: (asked, values) => steps.ask(asked, { chain, ...values }),
        leave: (asked, values) => steps.leave({ asked, values: { chain, ...values } }),
      });
      await unit.refoldTriggers([trader]);
    });

  return {
    live: (chain, trader) => read(chain, trader, LIVE, {}).then((found) => found.filter(isLive)),
    ofOwners: async (chain, trader, owners) =>
      owners.length === 0 ? [] : read(chain, trader, OF_OWNERS, { owners: [...new Set(owners)].map(String) }),
    at: async (chain, trader, places) => (places.length === 0 ? [] : read(chain, trader, AT_PLACES, { places: [...new Set(places)] })),
    newest: (chain, trader, owners) => read(chain, trader, NEWEST, { limit: owners }),
  };
}

const LIVE_PHASES: ReadonlySet<Trigger['phase']> = new Set(['waiting', 'underWay', 'standing']);
const isLive = ({ phase }: Trigger): boolean => LIVE_PHASES.has(phase);

/** Without a trigger there is one row that says whether the trader is folded, or has nothing to fold. */
interface Row {
  readonly is_folded: boolean;
  readonly now: bigint;
  readonly indexed: bigint | null;
  readonly owner: bigint | null;
  readonly origin: Trigger['origin'];
  readonly kind: Level;
  readonly parent: bigint | null;
  readonly asked_place: TriggerPlace | null;
  readonly place: TriggerPlace | null;
  readonly price: string;
  readonly asked_at: bigint;
  readonly state: TriggerStatus['state'];
  readonly end_cause: TriggerEndCause | null;
  readonly end_at: bigint | null;
  readonly end_hash: Hex | null;
  readonly changed_block: bigint | null;
  readonly job: bigint | null;
  readonly job_is_over: boolean | null;
  readonly mined_block: bigint | null;
  readonly not_after: bigint | null;
  readonly opening: string | null;
}

function triggersOf(rows: readonly Row[]): Trigger[] {
  const found = rows.filter(({ owner }) => owner !== null).map((row) => ({ row, ...statusOf(row) }));
  const moment = { now: Number(rows[0]?.now ?? 0n), indexed: rows[0]?.indexed ?? -1n };
  const replaced = replacedAhead(found, moment);
  return found.map((each): Trigger => {
    const { row, place } = each;
    const { owner, origin, kind, parent, price, asked_at, end_cause, end_at, end_hash, job } = row;
    const about = { owner: owner ?? 0n, origin, kind, parent, place, price: BigInt(price), askedAt: Number(asked_at), job };
    if (replaced.has(each)) return { ...about, phase: 'over', end: { cause: 'replaced', at: moment.now, txHash: null, block: null } };
    const end = end_cause === null ? null : { cause: end_cause, at: Number(end_at), txHash: end_hash, block: row.changed_block };
    return { ...about, phase: phaseOf(each, moment), end };
  });
}

const statusOf = ({ state, kind, asked_place, place, job, job_is_over, mined_block, not_after, opening }: Row): TriggerStatus => ({
  state,
  kind,
  place: place ?? asked_place,
  job:
    job === null
      ? null
      : {
          id: job,
          isOver: job_is_over === true,
          minedBlock: mined_block,
          until: not_after === null ? null : Number(not_after) + MAY_BE_SENT_MS,
        },
  isOpeningDue: opening === 'prepared' || opening === 'pending' || opening === 'timed_out',
});

/** `which`: the keys of the trader's triggers that are read. */
const readingOf = (which: string, order = 'found.owner, found.leg'): Statement =>
  statement(`
  select exists (select from trigger_bases where chain = cast(:chain as text) and trader = cast(:trader as text))
      or (select block_number from chain_events where chain = cast(:chain as text) and trader = cast(:trader as text)
        and kind in (${KINDS}) and not orphaned order by block_number, log_index limit 1) is null as is_folded, ${NOW_MS} as now,
    (select block_number from chain_cursors where chain = cast(:chain as text)) as indexed,
    found.owner, found.origin, found.kind, found.parent, found.asked_place, found.place, found.price::text, found.asked_at, found.state,
    found.end_cause, found.end_at, found.end_hash, found.changed_block, found.job, job.is_over as job_is_over,
    case when job.state = 'mined' then job.mined_block end as mined_block, job.not_after, parent.status as opening
  from (select) as one
  left join triggers found on found.chain = cast(:chain as text) and found.trader = cast(:trader as text) and found.key = any(array(${which}))
  left join relay_jobs job on job.id = found.job
  left join orders parent on parent.id = found.parent
  order by ${order}`);

const KEYS = 'select key from triggers where chain = cast(:chain as text) and trader = cast(:trader as text)';

const WALLETS = `array(
        select wallet from relay_lanes where chain = cast(:chain as text)
        union select wallet from relay_wallets where chain = cast(:chain as text) and trader = cast(:trader as text))`;
const JOBS = `select id from relay_jobs where chain = cast(:chain as text) and wallet = any(${WALLETS}) and trader = cast(:trader as text)`;

/**
 * Those that stand, and those asked for by jobs that are not indexed yet or by openings that are not on chain: any number of others may have
 * failed, and are not read. Jobs are indexed by wallet; a wallet that never sent has no lane yet.
 */
export const LIVE = readingOf(`
    ${KEYS} and state = 'standing'
    union
    ${KEYS} and job = any(array(${JOBS} and not is_over))
    union
    ${KEYS} and job = any(array(${JOBS} and state = 'mined' and mined_block > (select block_number from chain_cursors where chain = cast(:chain as text))))
    union
    ${KEYS} and parent = any(array(
      select id from orders where chain = cast(:chain as text) and trader = cast(:trader as text) and is_live and status <> 'open'))`);

export const OF_OWNERS = readingOf(`${KEYS} and owner = any(cast(:owners as bigint[]))`);

export const AT_PLACES = readingOf(`${KEYS} and place = any(cast(:places as text[]))`);

export const NEWEST = readingOf(
  `${KEYS} and owner = any(array(
      select distinct owner from triggers where chain = cast(:chain as text) and trader = cast(:trader as text)
      order by owner desc limit cast(:limit as integer)))`,
  'found.owner desc, found.leg',
);

/** A trigger of a bot's order with the job that sets it. */
export interface NewTrigger extends WantedTrigger {
  readonly job: bigint;
}

interface AskingOrder {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly createdAt: number;
}

/** Runs in the transaction that stores the order: one that is not stored asks for nothing. */
export const addTriggers = ({ chain, trader, createdAt }: AskingOrder, oid: bigint, triggers: readonly NewTrigger[]): Question => ({
  asked: ADD,
  values: {
    ...{ chain, trader, oid, at: createdAt },
    rows: JSON.stringify(
      triggers.map(({ tradeIndex, kind, price, job }) => ({ trade_index: tradeIndex, kind, price: price.toString(), job: job.toString() })),
    ),
  },
});

/** An order that missed its price and rests now may have triggers already. */
const ADD = statement(`
  insert into triggers (chain, trader, key, owner, origin, leg, kind, job, price, asked_at, asked_place)
  select cast(:chain as text), cast(:trader as text), 'bot/' || cast(:oid as bigint) || '/' || before.legs + given.leg, cast(:oid as bigint), 'bot',
    before.legs + given.leg, given.row ->> 'kind', (given.row ->> 'job')::bigint, (given.row ->> 'price')::numeric, cast(:at as bigint),
    'trade:' || (given.row ->> 'trade_index')
  from jsonb_array_elements(cast(:rows as jsonb)) with ordinality as given(row, leg)
  cross join (
    select coalesce(max(leg), 0) as legs from triggers
    where chain = cast(:chain as text) and trader = cast(:trader as text) and owner = cast(:oid as bigint)) as before`);
