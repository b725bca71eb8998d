import { timingSafeEqual } from 'node:crypto';
import type { Knex } from 'knex';
import {
  MAX_AGENTS,
  MAX_API_KEYS,
  type AccessStore,
  type AgentClaim,
  type ApiKeyRecord,
  type ApiKeySummary,
  type MasterClaim,
  type Registration,
  type Takeover,
  type UnusedAgents,
} from '../../ports/stores/access.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { Agent } from '../../domain/agent.js';
import { GatewayError } from '../../errors.js';
import type { Address } from '../../types.js';
import { agentOf, scopeColumns, type AgentRow } from './agent-row.js';
import { dropSchedules } from './exchange-store.js';
import { appendJournal, type NewJournalEntry } from './journal-rows.js';
import { raiseFloor, spendMasterMessage } from './take-nonce.js';
import { inTransaction, lockIn } from './statement.js';

/** Limits a public query: anyone can authorise any number of agents for their own wallet. */
const MAX_LISTED = 1_000;

/** Rolls the transaction back, including the spent message; the caller gets null. */
class NotOwned extends Error {}

export function createAccessStore(db: Knex) {
  return {
    async findAgent(chain: ChainSlug, agent: Address): Promise<Agent | null> {
      const row = await db<AgentRow & InChain>('agents').where({ chain, agent }).first();
      return row === undefined ? null : agentOf(row);
    },

    async claimsOn(agent: Address): Promise<readonly AgentClaim[]> {
      const rows = await db<AgentRow & InChain & Used>('agents').where({ agent });
      return rows.map((row) => ({ chain: row.chain, agent: agentOf(row), hasSigned: row.signed_at !== null }));
    },

    async listAgents(chain: ChainSlug, trader: Address): Promise<readonly Agent[]> {
      const rows: AgentRow[] = await db<AgentRow & InChain>('agents')
        .where({ chain, trader })
        .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'agent' }])
        .limit(MAX_LISTED);
      return rows.map(agentOf);
    },

    authoriseAgent: (claim: MasterClaim, registration: Registration, takeover: Takeover): Promise<Agent | null> =>
      orNull(
        inTransaction(db, async (trx) => {
          await spendMasterMessage(trx, claim, registration.createdAt);
          if (!(await deleteOldestAgents(trx, claim.chain, registration))) throw tooMany('agents', MAX_AGENTS, claim.trader);
          const former = await trx<AgentRow & InChain>('agents')
            .where({ chain: claim.chain, agent: registration.agent })
            .forUpdate()
            .first();
          const agent = requireOwned(await putAgent(trx, claim.chain, registration, takeover));
          if (former !== undefined && former.trader !== agent.trader)
            await endRegistration(trx, claim.chain, former, registration.createdAt);
          await appendJournal(trx, claim.chain, registration.createdAt, [...lostBy(former, agent), agentEntry(agent)]);
          return agent;
        }),
      ),

    revokeAgent: (claim: MasterClaim, agent: Address, at: number): Promise<Agent | null> =>
      orNull(
        inTransaction(db, async (trx) => {
          await spendMasterMessage(trx, claim, at);
          const rows = await trx<AgentRow & InChain>('agents')
            .where({ chain: claim.chain, agent, trader: claim.trader })
            .update({ revoked_at: trx.raw('coalesce(revoked_at, ?)', [at]), version: trx.raw('version + 1') })
            .returning('*');
          const revoked = requireOwned(rows);
          await endRegistration(trx, claim.chain, revoked, at);
          await appendJournal(trx, claim.chain, at, [agentEntry(revoked)]);
          return revoked;
        }),
      ),

    async unusedAgents(chain: ChainSlug, { before, modes, limit }: UnusedAgents): Promise<readonly Agent[]> {
      const rows: AgentRow[] = await db<AgentRow & InChain>('agents')
        .where({ chain })
        .whereIn('mode', [...modes])
        .where('created_at', '<', before)
        .whereRaw(IS_UNUSED)
        .orderBy('created_at')
        .limit(limit);
      return rows.map(agentOf);
    },

    async removeUnused(chain: ChainSlug, agents: readonly Pick<Agent, 'agent' | 'version'>[]): Promise<number> {
      const { rowCount } = await db.raw<{ rowCount: number }>(`delete from agents where ${AS_FOUND}`, asFound(chain, agents));
      return rowCount;
    },

    async noteActive(chain: ChainSlug, agents: readonly Pick<Agent, 'agent' | 'version'>[], at: number): Promise<void> {
      await db.raw(`update agents set active_at = :at where ${AS_FOUND}`, { ...asFound(chain, agents), at });
    },

    saveApiKey: (claim: MasterClaim, { hash, label, expiresAt }: Omit<ApiKeyRecord, 'chain' | 'trader'>, at: number): Promise<void> =>
      inTransaction(db, async (trx) => {
        const { chain, trader } = claim;
        await spendMasterMessage(trx, claim, at);
        await lockAccess(trx, chain, trader);
        await trx('api_keys').where({ chain, trader }).where('expires_at', '<=', at).delete();
        const others = await trx('api_keys').where({ chain, trader }).whereNot({ label }).select('label');
        if (others.length >= MAX_API_KEYS) throw tooMany('API keys', MAX_API_KEYS, trader);
        await trx('api_keys')
          .insert({ chain, trader, label, key_hash: hash, created_at: at, expires_at: expiresAt })
          .onConflict(['chain', 'trader', 'label'])
          .merge(['key_hash', 'created_at', 'expires_at']);
      }),

    async listApiKeys(chain: ChainSlug, trader: Address, now: number): Promise<readonly ApiKeySummary[]> {
      const rows = await db<ApiKeyRow>('api_keys')
        .where({ chain, trader })
        .where((live) => void live.whereNull('expires_at').orWhere('expires_at', '>', now))
        .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'label' }])
        .select('label', 'created_at', 'expires_at');
      return rows.map(({ label, created_at, expires_at }) => ({ label, createdAt: Number(created_at), expiresAt: timeOf(expires_at) }));
    },

    deleteApiKey: (claim: MasterClaim, label: string, at: number): Promise<boolean> =>
      inTransaction(db, async (trx) => {
        const { chain, trader } = claim;
        await spendMasterMessage(trx, claim, at);
        return (await trx('api_keys').where({ chain, trader, label }).delete()) > 0;
      }),

    async findApiKey(chain: ChainSlug, hash: string): Promise<ApiKeyRecord | null> {
      const row = await db<ApiKeyRow>('api_keys').where({ chain, key_hash: hash }).first('key_hash', 'trader', 'label', 'expires_at');
      if (row === undefined || !isSameHash(row.key_hash, hash)) return null;
      return { chain, hash, trader: row.trader, label: row.label, expiresAt: timeOf(row.expires_at) };
    },
  } satisfies AccessStore;
}

interface InChain {
  readonly chain: ChainSlug;
}

interface Used {
  readonly signed_at: bigint | null;
}

interface ApiKeyRow extends InChain {
  readonly key_hash: string;
  readonly trader: Address;
  readonly label: string;
  readonly created_at: bigint;
  readonly expires_at: bigint | null;
}

const timeOf = (at: bigint | null): number | null => (at === null ? null : Number(at));

const IS_UNUSED = 'signed_at is null and active_at is null';
/** Excludes registrations that were changed or used since they were read. */
const AS_FOUND = `chain = :chain and ${IS_UNUSED}
  and (agent, version) in (select * from unnest(cast(:agents as text[]), cast(:versions as bigint[])))`;
const asFound = (chain: ChainSlug, agents: readonly Pick<Agent, 'agent' | 'version'>[]) => ({
  chain,
  agents: agents.map(({ agent }) => agent),
  versions: agents.map(({ version }) => version.toString()),
});

const tooMany = (what: string, most: number, trader: Address): GatewayError =>
  new GatewayError('UNSUPPORTED', {
    reason: `${trader} has ${most} ${what} on this chain, and no trader may have more: remove one first.`,
  });

/**
 * Whether the trader may have one more agent. The trader stays locked until the transaction ends, so that two replicas cannot both grant
 * the last one. Of ended and never used registrations only the newest are kept, because each costs only a signature.
 */
export async function deleteOldestAgents(
  trx: Knex.Transaction,
  chain: ChainSlug,
  { agent, trader, createdAt }: Registration,
): Promise<boolean> {
  await lockAccess(trx, chain, trader);
  const others = (): Knex.QueryBuilder => trx('agents').where({ chain, trader }).whereNot({ agent });
  const inForce = await others()
    .whereNull('revoked_at')
    .where((live: Knex.QueryBuilder) => void live.whereNull('expires_at').orWhere('expires_at', '>', createdAt))
    .select<unknown[]>('agent');
  if (inForce.length >= MAX_AGENTS) return false;
  await trx.raw(
    `delete from agents where chain = :chain and agent in (
       select agent from agents where chain = :chain and trader = :trader and agent <> :agent and signed_at is null
         and (revoked_at is not null or expires_at <= :createdAt)
       order by created_at desc offset ${MAX_AGENTS})`,
    { chain, trader, agent, createdAt },
  );
  return true;
}

/** One row per agent: of two concurrent registrations the second finds the row of the first, and `takeover` decides. */
async function putAgent(trx: Knex.Transaction, chain: ChainSlug, registration: Registration, takeover: Takeover): Promise<AgentRow[]> {
  const { agent, trader, name, mode, scope, createdAt } = registration;
  const columns = { trader, name, mode, ...scopeColumns(scope) };
  const query = trx('agents')
    .insert({ chain, agent, ...columns, created_at: createdAt })
    .onConflict(['chain', 'agent'])
    .merge({
      ...columns,
      ...ofSameTrader(trx),
      revoked_at: null,
      version: trx.raw('agents.version + 1'),
    });
  if (takeover !== 'any')
    query.where((allowed) => {
      allowed.where('agents.trader', trader);
      if (takeover !== 'none')
        allowed.orWhere((checked) => void checked.where('agents.version', takeover.version.toString()).whereNull('agents.signed_at'));
    });
  return query.returning('*');
}

/** Invalidates the agent's nonces and schedules when its registration ends, also if the same trader registers it again. */
export async function endRegistration(
  trx: Knex.Transaction,
  chain: ChainSlug,
  { agent, trader, mode }: Pick<Agent, 'agent' | 'trader' | 'mode'>,
  at: number,
): Promise<void> {
  if (mode === 'self') return;
  await raiseFloor(trx, { agent, trader, floor: BigInt(at) });
  await dropSchedules(trx, chain, { trader, agent });
}

/** Columns kept when the same trader registers the agent again: its age and its use. */
export const ofSameTrader = (trx: Knex.Transaction): Record<'created_at' | 'signed_at' | 'active_at', Knex.Raw> => ({
  created_at: trx.raw('case when agents.trader = excluded.trader then agents.created_at else excluded.created_at end'),
  signed_at: trx.raw('case when agents.trader = excluded.trader then agents.signed_at end'),
  active_at: trx.raw('case when agents.trader = excluded.trader then agents.active_at end'),
});

export const agentEntry = (agent: Agent): NewJournalEntry => ({ trader: agent.trader, fact: { kind: 'agent', agent } });

/** For the trader who loses the agent, it is revoked. */
export function lostBy(former: AgentRow | undefined, { trader, createdAt }: Agent): NewJournalEntry[] {
  if (former === undefined || former.trader === trader) return [];
  const lost = agentOf(former);
  return [agentEntry({ ...lost, revokedAt: lost.revokedAt ?? createdAt })];
}

function requireOwned(rows: readonly AgentRow[]): Agent {
  const [row] = rows;
  if (row === undefined) throw new NotOwned();
  return agentOf(row);
}

async function orNull<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotOwned) return null;
    throw error;
  }
}

const isSameHash = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Locks an agent key across chains: a concurrent approval of it waits here, and then finds the first one's row. */
export async function lockAgent(trx: Knex.Transaction, agent: Address): Promise<void> {
  await lockIn(trx, `diamond-gateway agent ${agent}`);
}

/** Serialises registrations of one trader's agents and keys, so that their count holds until the commit. */
export async function lockAccess(trx: Knex.Transaction, chain: ChainSlug, trader: Address): Promise<void> {
  await lockIn(trx, `diamond-gateway access ${chain} ${trader}`);
}
