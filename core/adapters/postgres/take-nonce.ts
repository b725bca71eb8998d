import type { Knex } from 'knex';
import { judgeByBooks, KEPT_NONCES, type NonceVerdict } from '../../access/signer-nonces.js';
import type { Address } from '../../types.js';
import type { MasterClaim } from '../../ports/stores/access.js';
import { GatewayError } from '../../errors.js';

/** The highest of the kept nonces and the new one, for an update where `known` is the row. */
const highestWith = (added: string): string => `(select array_agg(nonce order by nonce) from
  (select nonce from unnest(known.kept || ${added}) as nonce order by nonce desc limit ${KEPT_NONCES}) as highest)`;

/** The same for an upsert. */
export const KEEP_HIGHEST = highestWith('excluded.kept');

/** The part of `judgeByBooks` that must be checked under the lock of the signer's row. */
export const IS_FREE = `not (excluded.kept[1] = any (known.kept))
  and (cardinality(known.kept) < ${KEPT_NONCES} or excluded.kept[1] > known.kept[1])`;

export interface NonceRow {
  readonly kept: readonly bigint[];
  readonly floor: bigint;
}

const LOCKED = `
  insert into signer_nonces as known (signer, kept) values (?, '{}')
  on conflict (signer) do update set kept = known.kept returning kept`;

/**
 * Claims a nonce of a master wallet as part of a transaction; the signer's row stays locked until it ends. Its own floor is read under the
 * lock, so that an older approval of itself cannot follow a newer one.
 */
export async function takeNonce(trx: Knex.Transaction, signer: Address, nonce: bigint): Promise<NonceVerdict> {
  const locked = await trx.raw<{ rows: [Pick<NonceRow, 'kept'>] }>(LOCKED, [signer]);
  const own = await trx('nonce_floors').where({ agent: signer, trader: signer }).first<{ floor: bigint } | undefined>('floor');
  const verdict = judgeByBooks(nonce, { kept: locked.rows[0].kept, floor: own?.floor ?? 0n });
  if (verdict.kind === 'taken')
    await trx.raw(`update signer_nonces as known set kept = ${highestWith('array[cast(? as bigint)]')} where signer = ?`, [
      nonce.toString(),
      signer,
    ]);
  return verdict;
}

/** Why a nonce was refused. If it looked free when it was read, a concurrent request has taken it since. */
export function refusalOf(nonce: bigint, row: NonceRow): NonceVerdict {
  const verdict = judgeByBooks(nonce, row);
  return verdict.kind === 'taken' ? { kind: 'duplicate' } : verdict;
}

/** Invalidates the agent's nonces up to `floor` for this trader; a floor never falls. */
export async function raiseFloor(trx: Knex.Transaction, { agent, trader, floor }: Floor): Promise<void> {
  await trx.raw(
    `insert into nonce_floors as known (agent, trader, floor) values (?, ?, ?)
     on conflict (agent, trader) do update set floor = greatest(known.floor, excluded.floor)`,
    [agent, trader, floor.toString()],
  );
}

export interface Floor {
  readonly agent: Address;
  readonly trader: Address;
  readonly floor: bigint;
}

/** Each new message deletes some expired messages and clocks, so that the tables stay as small as the window. */
const SWEPT_AT_ONCE = 100;
/** After the timestamp window a clock has no effect; the day covers clocks that were set back. */
const CLOCK_KEPT_MS = 86_400_000;

/** Claims the message for this transaction; throws when it is spent, or older than the last accepted one of its subject. */
export async function spendMasterMessage(trx: Knex.Transaction, claim: MasterClaim, now: number): Promise<void> {
  await takeMessage(trx, claim);
  await advanceClock(trx, claim);
  await trx.raw(
    `delete from master_messages where ctid in
       (select ctid from master_messages where expires_at < ? order by expires_at limit ? for update skip locked)`,
    [now, SWEPT_AT_ONCE],
  );
  await trx.raw(
    `delete from master_timestamps where ctid in
       (select ctid from master_timestamps where last_timestamp < ? order by last_timestamp limit ? for update skip locked)`,
    [now - CLOCK_KEPT_MS, SWEPT_AT_ONCE],
  );
}

/** The primary key lets only one of two replicas with the same message succeed. */
async function takeMessage(trx: Knex.Transaction, { chain, trader, cosigner, primaryType, digest, ...claim }: MasterClaim): Promise<void> {
  const signers = cosigner === null ? [trader] : [trader, cosigner].sort();
  const rows = signers.map((signer) => ({ chain, signer, primary_type: primaryType, digest, expires_at: claim.expiresAt }));
  const taken = await trx('master_messages').insert(rows).onConflict().ignore().returning('digest');
  if (taken.length < rows.length) throw new GatewayError('NONCE_REUSED', { nonce: String(claim.timestamp) });
}

/** The row is locked until the transaction ends: messages of one subject are serialised, with rising timestamps. */
async function advanceClock(trx: Knex.Transaction, { chain, trader, subject, timestamp }: MasterClaim): Promise<void> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(
    `insert into master_timestamps as known (chain, trader, subject, last_timestamp) values (?, ?, ?, ?)
     on conflict (chain, trader, subject) do update set last_timestamp = excluded.last_timestamp
       where known.last_timestamp < excluded.last_timestamp
     returning last_timestamp`,
    [chain, trader, subject, timestamp],
  );
  if (rows.length > 0) return;
  const known = await trx('master_timestamps')
    .where({ chain, trader, subject })
    .first<{ last_timestamp: bigint } | undefined>('last_timestamp');
  throw new GatewayError('NONCE_REUSED', { nonce: String(timestamp), lastAccepted: String(known?.last_timestamp ?? timestamp) });
}
