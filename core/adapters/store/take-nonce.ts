import type { Knex } from 'knex';
import { judgeByBooks, KEPT_NONCES, type NonceVerdict } from '../../access/signer-nonces.js';
import type { Address } from '../../ports.js';

/** The highest of those kept and the new one; to be used where `known` is the row and `excluded` brings the new one. */
export const KEEP_HIGHEST = `(select array_agg(nonce order by nonce) from
  (select nonce from unnest(known.kept || excluded.kept) as nonce order by nonce desc limit ${KEPT_NONCES}) as highest)`;

/** The same rule as `judgeByBooks`, where it counts: under the lock of the signer's row. */
export const IS_FREE = `not (excluded.kept[1] = any (known.kept)) and excluded.kept[1] > known.floor
  and (cardinality(known.kept) < ${KEPT_NONCES} or excluded.kept[1] > known.kept[1])`;

export interface NonceRow {
  readonly kept: readonly bigint[];
  readonly floor: bigint;
}

/** Takes a nonce as part of a transaction; the signer's row stays locked until it ends. */
export async function takeNonce(trx: Knex.Transaction, signer: Address, nonce: bigint): Promise<NonceVerdict> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(
    `insert into signer_nonces as known (signer, kept) values (?, array[cast(? as bigint)])
     on conflict (signer) do update set kept = ${KEEP_HIGHEST} where ${IS_FREE}
     returning 1`,
    [signer, nonce.toString()],
  );
  if (rows.length > 0) return { kind: 'taken' };
  const row = await trx('signer_nonces').where({ signer }).first<NonceRow | undefined>('kept', 'floor');
  return refusalOf(nonce, row);
}

/** Why a nonce was not to be had. Books that were read a moment too early may still have it free: somebody took it since. */
export function refusalOf(nonce: bigint, row: NonceRow | undefined): NonceVerdict {
  const verdict = judgeByBooks(nonce, row ?? { kept: [], floor: 0n });
  return verdict.kind === 'taken' ? { kind: 'duplicate' } : verdict;
}

/** Everything up to `floor` is dead from now on. */
export async function raiseFloor(trx: Knex.Transaction, signer: Address, floor: bigint): Promise<void> {
  await trx.raw(
    `insert into signer_nonces as known (signer, kept, floor) values (?, '{}', ?)
     on conflict (signer) do update set floor = greatest(known.floor, excluded.floor)`,
    [signer, floor.toString()],
  );
}
