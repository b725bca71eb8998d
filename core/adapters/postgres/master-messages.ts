import type { Knex } from 'knex';
import type { MasterClaim } from '../../ports/stores/access.js';
import { GatewayError } from '../../errors.js';

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
