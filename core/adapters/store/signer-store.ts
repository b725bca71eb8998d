import type { Knex } from 'knex';
import type {
  Acquaintance,
  AgentApproval,
  AgentRemoval,
  ApprovalOutcome,
  SignerClaim,
  SignerStore,
  SignerVerdict,
} from '../../access/signer-store.js';
import type { NonceVerdict } from '../../access/signer-nonces.js';
import type { ChainSlug } from '../../chains.js';
import type { Agent } from '../../domain/agent.js';
import type { Address } from '../../ports.js';
import { AGENT_COLUMNS, agentOf, type AgentRow } from './agent-row.js';
import { approveAgent, removeAgent } from './facade-agents.js';
import { tryAgain } from './faults.js';
import { ask, statement } from './in-one-go.js';
import { IS_FREE, KEEP_HIGHEST, refusalOf, type NonceRow } from './take-nonce.js';

export interface SignerStoreOptions {
  readonly db: Knex;
  readonly transaction: <Result>(work: (trx: Knex.Transaction) => Promise<Result>) => Promise<Result>;
}

const FOUND = `
  found as (
    select ${AGENT_COLUMNS.map((column) => `agents.${column}`).join(', ')}
    from unnest(cast(:candidates as text[])) with ordinality as candidate (address, place)
      join agents on agents.chain = cast(:chain as text) and agents.agent = candidate.address and agents.mode = 'relayed'
    order by candidate.place limit 1
  )`;

const CLAIM = statement(`
  with ${FOUND}, live as (
    select agent from found where revoked_at is null and (expires_at is null or expires_at > cast(:now as bigint))
  ), counted as (
    insert into request_counts (window_start, subject, requests, writes)
    select cast(:window as bigint), cast(:bucket as text) || ':' || cast(:chain as text) || ':' || agent, cast(:weight as bigint), 0 from live
    on conflict (window_start, subject) do update set requests = request_counts.requests + excluded.requests
    returning requests
  ), taken as (
    insert into signer_nonces as known (signer, kept)
    select live.agent, array[cast(:nonce as bigint)] from live, counted where counted.requests <= cast(:limit as bigint)
    on conflict (signer) do update set kept = ${KEEP_HIGHEST} where ${IS_FREE}
    returning signer
  )
  select found.*, (select requests from counted) as used, exists (select from taken) as is_taken, books.kept, books.floor
  from found left join signer_nonces as books on books.signer = found.agent`);

interface ClaimRow extends AgentRow {
  readonly used: bigint | null;
  readonly is_taken: boolean;
  readonly kept: readonly bigint[] | null;
  readonly floor: bigint | null;
}

export function createSignerStore({ db, transaction }: SignerStoreOptions) {
  return {
    async find(chain: ChainSlug, candidates: readonly Address[]): Promise<Agent | null> {
      const { rows } = await db.raw<{ rows: AgentRow[] }>(`with ${FOUND} select * from found`, { chain, candidates: [...candidates] });
      return rows[0] === undefined ? null : agentOf(rows[0]);
    },
    async claim(claim: SignerClaim): Promise<SignerVerdict> {
      const { chain, candidates, nonce, now, count } = claim;
      const given = { chain, candidates: [...candidates], nonce: nonce.toString(), now, ...count };
      const [row] = await tryAgain(() => ask<ClaimRow>(db, CLAIM, given));
      return verdictOf(row, claim);
    },
    async acquaintances(addresses: readonly Address[]): Promise<readonly Acquaintance[]> {
      const { rows } = await db.raw<{ rows: Acquaintance[] }>(
        `select agent as address, chain, 'agent' as role, mode, trader from agents where agent = any (cast(:addresses as text[]))
         union all
         select distinct trader, chain, 'trader', mode, trader from agents where trader = any (cast(:addresses as text[]))
         limit 200`,
        { addresses: [...addresses] },
      );
      return rows;
    },
    approve: (approval: AgentApproval): Promise<ApprovalOutcome> => approveAgent(transaction, approval),
    remove: (removal: AgentRemoval): Promise<NonceVerdict> => transaction((trx) => removeAgent(trx, removal)),
  } satisfies SignerStore;
}

function verdictOf(row: ClaimRow | undefined, { nonce, count }: SignerClaim): SignerVerdict {
  if (row === undefined) return { agent: null, used: null, nonce: null };
  const used = row.used === null ? null : Number(row.used);
  const isClaimed = used !== null && used <= count.limit;
  return { agent: agentOf(row), used, nonce: isClaimed ? nonceVerdict(row, nonce) : null };
}

function nonceVerdict({ is_taken: isTaken, kept, floor }: ClaimRow, nonce: bigint): NonceVerdict {
  if (isTaken) return { kind: 'taken' };
  const books: NonceRow | undefined = kept === null || floor === null ? undefined : { kept, floor };
  return refusalOf(nonce, books);
}
