import type { Knex } from 'knex';
import type {
  Acquaintance,
  ActionProof,
  AgentApproval,
  AgentRemoval,
  ApprovalOutcome,
  KeptAction,
  SignerClaim,
  SignerStore,
  SignerVerdict,
  ToKeep,
} from '../../ports/stores/signers.js';
import { CLIENT_LAG_MS, KEPT_NONCES, type NonceVerdict } from '../../access/signer-nonces.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { Agent } from '../../domain/agent.js';
import type { Address } from '../../types.js';
import { AGENT_COLUMNS, agentOf, type AgentRow } from './agent-row.js';
import { approveAgent, removeAgent } from './facade-agents.js';
import { tryAgain } from './faults.js';
import { inTransaction, ask, statement, type Values } from './statement.js';
import type { StatementBatcher } from './statement-batcher.js';
import { IS_FREE, KEEP_HIGHEST, refusalOf } from './take-nonce.js';
import { factsOf, readFacts, type FactsRow } from './exchange-sql.js';

export interface SignerStoreOptions {
  readonly db: Knex;
  readonly batcher: StatementBatcher;
}

/** Floors that no longer have an effect are removed; without one, nonces well before the registration are refused. */
const FOUND = `
  found as (
    select ${AGENT_COLUMNS.map((column) => `agents.${column}`).join(', ')}, candidate.place,
      coalesce((select floor from nonce_floors where nonce_floors.agent = agents.agent and nonce_floors.trader = agents.trader),
        agents.created_at - ${CLIENT_LAG_MS}) as floor
    from unnest(cast(:candidates as text[])) with ordinality as candidate (address, place)
      join agents on agents.chain = cast(:chain as text) and agents.agent = candidate.address and agents.mode = 'relayed'
    order by candidate.place limit 1
  )`;

/** Rate-limit subject of a trader's actions. */
const subjectOf = (trader: string): string => `cast(:bucket as text) || ':' || cast(:chain as text) || ':' || ${trader}`;

/**
 * A spent or too old nonce is not counted in the trader's windows: anyone can replay signed bodies and would use up the windows of a bot.
 * The request still counts for its client address.
 */
const claiming = ({ parts, columns } = UNKEPT): string => `
  with ${FOUND}, live as (
    select agent, trader, floor from found where revoked_at is null and (expires_at is null or expires_at > cast(:now as bigint))
  ), free as (
    select live.agent, live.trader from live left join signer_nonces as books on books.signer = live.agent
    where cast(:nonce as bigint) > live.floor and (books.signer is null or (not (cast(:nonce as bigint) = any (books.kept))
      and (cardinality(books.kept) < ${KEPT_NONCES} or cast(:nonce as bigint) > books.kept[1])))
  ), counted as (
    insert into request_counts (window_start, subject, requests, writes)
    select cast(:window as bigint), ${subjectOf('free.trader')}, cast(:weight as bigint), 0 from free
    on conflict (window_start, subject) do update set requests = request_counts.requests + excluded.requests
    returning requests
  ), items as (
    insert into request_counts (window_start, subject, requests, writes)
    select cast(:window as bigint), 'facade-items:' || cast(:chain as text) || ':' || trader, cast(:items as bigint), 0
    from free where cast(:items as bigint) > 0
    on conflict (window_start, subject) do update set requests = request_counts.requests + excluded.requests
    returning requests
  ), within as (
    select from counted where requests <= cast(:limit as bigint)
      and coalesce((select requests from items), 0) <= cast(:itemLimit as bigint)
  ), taken as (
    insert into signer_nonces as known (signer, kept)
    select free.agent, array[cast(:nonce as bigint)] from free, within
    on conflict (signer) do update set kept = ${KEEP_HIGHEST} where ${IS_FREE}
    returning signer
  )${parts}
  select found.*, exists (select from live) as is_live, coalesce((select requests from counted), (
    select requests from request_counts where window_start = cast(:window as bigint) and subject = ${subjectOf('found.trader')}), 0) as used,
    coalesce((select requests from items), 0) as used_items, exists (select from taken) as is_taken, books.kept${columns}
  from found left join signer_nonces as books on books.signer = found.agent`;

const UNKEPT = { parts: '', columns: '' };

const owner = (table: string): string => `${table}.chain = cast(:chain as text) and ${table}.trader = found.trader`;

const proving = (condition: string): string => `
  proven as (
    insert into relay_actions (chain, signer, trader, envelope, action_hash, form, network, nonce, received_at)
    select cast(:chain as text), agent, trader, cast(:envelope as text), (cast(:hashes as text[]))[place], (cast(:forms as text[]))[place],
      (cast(:networks as text[]))[place], cast(:nonce as bigint), cast(:receivedAt as bigint)
    from found where ${condition} returning id
  ), marked as (
    update agents set signed_at = cast(:receivedAt as bigint) from found
    where agents.chain = cast(:chain as text) and agents.agent = found.agent and agents.trader = found.trader and agents.signed_at is null
      and exists (select from proven)
  )`;

const SENT_FOR = `exists (select from relay_jobs as job where ${owner('job')})`;

const KEPT = {
  parts: `, ${proving(`exists (select from taken) and ${SENT_FOR}`)}`,
  columns: `, (select id from proven) as action, (select wallet from relay_wallets as given where ${owner('given')}) as wallet, ${factsOf(owner)}`,
};

const CLAIM = statement(claiming());
const CLAIM_AND_KEEP = statement(claiming(KEPT));
const KEEP = statement(`with ${FOUND}, ${proving('true')} select found.agent, found.trader, found.place${KEPT.columns} from found`);

interface KeptRow extends Pick<AgentRow, 'agent' | 'trader'>, Partial<FactsRow> {
  /** The candidate's position, from 1. */
  readonly place: bigint;
  readonly action?: bigint | null;
  readonly wallet?: Address | null;
}

interface ClaimRow extends AgentRow, KeptRow {
  /** Neither revoked nor expired. */
  readonly is_live: boolean;
  readonly used: bigint;
  readonly used_items: bigint;
  readonly is_taken: boolean;
  readonly kept: readonly bigint[] | null;
  readonly floor: bigint;
}

export function createSignerStore({ db, batcher }: SignerStoreOptions) {
  return {
    async find(chain: ChainSlug, candidates: readonly Address[]): Promise<Agent | null> {
      const { rows } = await db.raw<{ rows: AgentRow[] }>(`with ${FOUND} select * from found`, { chain, candidates: [...candidates] });
      return rows[0] === undefined ? null : agentOf(rows[0]);
    },
    async claim(claim: SignerClaim): Promise<SignerVerdict> {
      const { chain, candidates, nonce, now, count } = claim;
      const given = { chain, candidates: [...candidates], nonce: nonce.toString(), now, ...count, ...proofValues(claim.proof) };
      const asked = claim.proof ? CLAIM_AND_KEEP : CLAIM;
      const [row] = await tryAgain(() => batcher.ask<ClaimRow>(asked, given, { order: candidates.join() }));
      return verdictOf(row, claim);
    },
    async keep(action: ToKeep): Promise<KeptAction | null> {
      const { chain, candidates, nonce, proof } = action;
      const [row] = await ask<KeptRow>(db, KEEP, { chain, candidates: [...candidates], nonce: nonce.toString(), ...proofValues(proof) });
      return row === undefined ? null : keptBy(row, action);
    },
    async approvedAt(chain: ChainSlug, agent: Address): Promise<number | null> {
      const row = await db('agent_approvals').where({ chain, agent }).first<{ approved_at: bigint } | undefined>('approved_at');
      return row === undefined ? null : Number(row.approved_at);
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
    approve: (approval: AgentApproval): Promise<ApprovalOutcome> => approveAgent(db, approval),
    remove: (removal: AgentRemoval): Promise<NonceVerdict> => inTransaction(db, (trx) => removeAgent(trx, removal)),
  } satisfies SignerStore;
}

function verdictOf(row: ClaimRow | undefined, claim: SignerClaim): SignerVerdict {
  const { nonce, count } = claim;
  if (row === undefined) return { agent: null, used: null, usedItems: 0, nonce: null, kept: null };
  const used = row.is_live ? Number(row.used) : null;
  const usedItems = Number(row.used_items);
  const isClaimed = used !== null && used <= count.limit && usedItems <= count.itemLimit;
  return { agent: agentOf(row), used, usedItems, nonce: isClaimed ? nonceVerdict(row, nonce) : null, kept: keptBy(row, claim) };
}

const proofValues = (proof: ActionProof | undefined): Values =>
  proof === undefined
    ? {}
    : {
        envelope: proof.envelope,
        receivedAt: proof.receivedAt,
        hashes: proof.readings.map(({ actionHash }) => actionHash),
        forms: proof.readings.map(({ form }) => form),
        networks: proof.readings.map(({ network }) => network),
      };

function keptBy(
  { action: id, place, agent, trader, wallet = null, positions, busy, leverage, asked_at }: KeptRow,
  { chain, nonce, proof }: Pick<SignerClaim, 'chain' | 'nonce' | 'proof'>,
): KeptAction | null {
  const reading = proof?.readings[Number(place) - 1];
  if (id == null || !proof || !reading) return null;
  if (positions === undefined || busy === undefined || leverage === undefined || asked_at === undefined)
    throw new Error('the facts of a trader were not read');
  const { envelope, receivedAt } = proof;
  const action = { id, chain, signer: agent, trader, envelope, ...reading, nonce, receivedAt };
  return { action, wallet, facts: readFacts({ positions, busy, leverage, asked_at }) };
}

const nonceVerdict = ({ is_taken: isTaken, kept, floor }: ClaimRow, nonce: bigint): NonceVerdict =>
  isTaken ? { kind: 'taken' } : refusalOf(nonce, { kept: kept ?? [], floor });
