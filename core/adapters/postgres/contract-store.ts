import type { Knex } from 'knex';
import type { ContractStanding } from '../../domain/contract-doubt.js';
import type { OrderKey } from '../../domain/chain-event.js';
import type { LogPlace, RawLog } from '../../domain/diamond-log.js';
import type { ContractStore, ContractUnit, KeptTransaction } from '../../ports/stores/contract.js';
import type { Address, Hex } from '../../types.js';
import { ask, plannedAnew, statement, type Statement, type Values } from './statement.js';

export function createContractStore(db: Knex): ContractStore {
  return {
    async standing(chain) {
      const [row] = await ask<{ standing: StandingRow }>(db, STANDING, { chain });
      if (!row) throw new Error('The database does not say what is known of the contract.');
      return standingOf(row.standing);
    },
    async unread(chain, limit) {
      return (await ask<UnreadRow>(db, UNREAD, { chain, limit })).map(keptOf);
    },
    async unexplained(chain, limit) {
      return ask<{ id: bigint; trader: Address; orderKey: OrderKey | null; txHash: Hex }>(db, UNEXPLAINED, { chain, limit });
    },
    async accept(chain, { block, hash }, { findings, reason }, at) {
      return (await ask(db, ACCEPT, { chain, block, hash, findings: JSON.stringify(findings), reason, at })).length > 0;
    },
    async agree(chain, { block, hash }, at) {
      return (await ask(db, AGREE, { chain, block, hash, at })).length > 0;
    },
  };
}

/** The part of the indexer's transaction that is about the contract. */
export function createContractUnit(
  rows: <Row>(asked: Statement, values: Values) => Promise<Row[]>,
  leave: (asked: Statement, values: Values) => void,
): ContractUnit & { readonly forgetAbove: (block: bigint) => void } {
  return {
    keepUnread(kept) {
      if (kept.length > 0) leave(KEEP_UNREAD, { rows: JSON.stringify(kept.map(unreadRow)) });
    },
    async keptAmong(places) {
      const values = { hashes: places.map(({ txHash }) => txHash), blocks: places.map(({ blockHash }) => blockHash) };
      return new Set((await rows<{ txHash: Hex }>(KEPT_AMONG, values)).map(({ txHash }) => txHash));
    },
    forgetUnread({ txHash, blockHash }) {
      leave(FORGET_UNREAD, { txHash, blockHash });
    },
    async settleUnread(txHash, { at, note }) {
      return (await rows(SETTLE_UNREAD, { txHash, at, note })).length > 0;
    },
    noteCuts(places) {
      if (places.length > 0) leave(NOTE_CUTS, { rows: JSON.stringify(places.map(cutRow)) });
    },
    forgetAbove(block) {
      leave(FORGET_UNREAD_ABOVE, { block });
      leave(FORGET_CUTS_ABOVE, { block });
      leave(FORGET_ACCEPTED_ABOVE, { block });
    },
  };
}

/** Numbers of blocks are texts in JSON. */
export interface StandingRow {
  readonly unread: readonly { readonly txHash: Hex; readonly block: string }[];
  readonly cut: string | null;
  readonly cutHash: Hex | null;
  readonly accepted: { readonly upTo: string; readonly findings: readonly string[] } | null;
}

export const standingOf = ({ unread, cut, cutHash, accepted }: StandingRow): ContractStanding => ({
  unread: unread.map(({ txHash, block }) => ({ txHash, block: BigInt(block) })),
  cut: cut === null ? null : BigInt(cut),
  cutHash,
  accepted: accepted && { ...accepted, upTo: BigInt(accepted.upTo) },
});

/** A `StandingRow`, as a column of any statement that knows `:chain`. */
export const STANDING_COLUMN = `jsonb_build_object(
    'unread', (select coalesce(jsonb_agg(jsonb_build_object('txHash', tx_hash, 'block', block_number::text) order by block_number), '[]')
      from (select tx_hash, block_number from unread_transactions where chain = cast(:chain as text) and settled_at is null
        order by block_number limit 5) as oldest),
    'cut', (select max(block_number)::text from diamond_cuts where chain = cast(:chain as text)),
    'cutHash', (select block_hash from diamond_cuts where chain = cast(:chain as text) order by block_number desc limit 1),
    'accepted', (select jsonb_build_object('upTo', up_to_block::text, 'findings', findings)
      from accepted_contracts where chain = cast(:chain as text)))`;

const STANDING = statement(`select ${STANDING_COLUMN} as standing`);

interface UnreadRow {
  readonly block_number: bigint;
  readonly block_hash: Hex;
  readonly tx_hash: Hex;
  readonly at: bigint;
  readonly logs: readonly RawLog[];
  readonly settled_at: bigint | null;
  readonly settled_note: string | null;
}

const keptOf = ({ block_number, block_hash, tx_hash, at, logs, settled_at, settled_note }: UnreadRow): KeptTransaction => ({
  place: { blockNumber: block_number, blockHash: block_hash, txHash: tx_hash, at: Number(at) },
  raw: logs,
  settled: settled_at === null ? null : { at: Number(settled_at), note: settled_note ?? '' },
});

const unreadRow = ({ place, raw }: Pick<KeptTransaction, 'place' | 'raw'>) => ({
  block_number: place.blockNumber.toString(),
  block_hash: place.blockHash,
  tx_hash: place.txHash,
  at: place.at,
  logs: raw,
});

const cutRow = ({ blockNumber, blockHash, txHash, logIndex, at }: LogPlace) => ({
  block_number: blockNumber.toString(),
  block_hash: blockHash,
  tx_hash: txHash,
  log_index: logIndex,
  at,
});

const UNREAD = statement(`
  select block_number, block_hash, tx_hash, at, logs, settled_at, settled_note from unread_transactions
  where chain = cast(:chain as text) order by block_number limit cast(:limit as integer)`);

const KEPT_AMONG = statement(`
  select tx_hash as "txHash" from unread_transactions
  where chain = cast(:chain as text) and tx_hash = any (cast(:hashes as text[])) and block_hash = any (cast(:blocks as text[]))`);

const UNEXPLAINED = statement(`
  select id, trader, order_key as "orderKey", state ->> 'unexplained' as "txHash" from orders
  where chain = cast(:chain as text) and status = 'pending' and requested_block is null and state ->> 'unexplained' is not null
  order by id limit cast(:limit as integer)`);

/** The lock waits for a reorganisation that is deleting the change, which thus either deletes it first or finds the acceptance. */
const STORED_CUT = `select 1 from diamond_cuts
    where chain = cast(:chain as text) and block_number = cast(:block as bigint) and block_hash = cast(:hash as text) limit 1 for share`;

const ACCEPT = statement(`
  with cut as (${STORED_CUT})
  insert into accepted_contracts (chain, up_to_block, findings, reason, at)
  select cast(:chain as text), cast(:block as bigint), cast(:findings as jsonb), cast(:reason as text), cast(:at as bigint) from cut
  on conflict (chain) do update
    set up_to_block = excluded.up_to_block, findings = excluded.findings, reason = excluded.reason, at = excluded.at
    where accepted_contracts.up_to_block <= excluded.up_to_block
  returning up_to_block`);

const AGREE = statement(`
  with cut as (${STORED_CUT})
  insert into accepted_contracts (chain, up_to_block, findings, reason, at)
  select cast(:chain as text), cast(:block as bigint), '[]', null, cast(:at as bigint) from cut
  on conflict (chain) do update set up_to_block = excluded.up_to_block, at = excluded.at
    where accepted_contracts.up_to_block < excluded.up_to_block
  returning up_to_block`);

const KEEP_UNREAD = statement(`
  insert into unread_transactions (chain, block_number, block_hash, tx_hash, at, logs)
  select cast(:chain as text), block_number, block_hash, tx_hash, at, logs
  from jsonb_to_recordset(:rows::jsonb) as given(block_number bigint, block_hash text, tx_hash text, at bigint, logs jsonb)
  on conflict do nothing`);

const FORGET_UNREAD = statement(`
  delete from unread_transactions
  where chain = cast(:chain as text) and tx_hash = cast(:txHash as text) and block_hash = cast(:blockHash as text)`);

const SETTLE_UNREAD = statement(`
  update unread_transactions set settled_at = cast(:at as bigint), settled_note = cast(:note as text)
  where chain = cast(:chain as text) and tx_hash = cast(:txHash as text) and settled_at is null returning tx_hash`);

const NOTE_CUTS = statement(`
  insert into diamond_cuts (chain, block_number, block_hash, tx_hash, log_index, at)
  select cast(:chain as text), block_number, block_hash, tx_hash, log_index, at
  from jsonb_to_recordset(:rows::jsonb) as given(block_number bigint, block_hash text, tx_hash text, log_index integer, at bigint)
  on conflict do nothing`);

const FORGET_UNREAD_ABOVE = plannedAnew(`
  delete from unread_transactions where chain = cast(:chain as text) and block_number > cast(:block as bigint)`);

const FORGET_CUTS_ABOVE = plannedAnew(`
  delete from diamond_cuts where chain = cast(:chain as text) and block_number > cast(:block as bigint)`);

/** Which change is covered is no longer known then, so none is; the findings that the operator accepted stay. */
const FORGET_ACCEPTED_ABOVE = plannedAnew(`
  update accepted_contracts set up_to_block = 0 where chain = cast(:chain as text) and up_to_block > cast(:block as bigint)`);
