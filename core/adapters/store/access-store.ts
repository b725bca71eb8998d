import { timingSafeEqual } from 'node:crypto';
import type { Knex } from 'knex';
import type { AccessStore, AgentClaim, ApiKeyRecord, MasterClaim, Registration, Takeover } from '../../access/access-store.js';
import type { ChainSlug } from '../../chains.js';
import type { Agent } from '../../domain/agent.js';
import type { Address } from '../../ports.js';
import { agentOf, scopeColumns, type AgentRow } from './agent-row.js';
import { appendJournal, type Told } from './journal-rows.js';
import { spendMasterMessage } from './master-messages.js';
import { raiseFloor } from './take-nonce.js';

export interface AccessStoreOptions {
  readonly db: Knex;
  readonly transaction: <Result>(work: (trx: Knex.Transaction) => Promise<Result>) => Promise<Result>;
}

/** Anybody can authorise agents for a wallet of their own without end, and everybody can ask for the wallet. */
const MAX_LISTED = 1_000;

/** Undoes the transaction, the spent message included; the caller sees a null. */
class NotTheirs extends Error {}

export function createAccessStore({ db, transaction }: AccessStoreOptions) {
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
        transaction(async (trx) => {
          await spendMasterMessage(trx, claim, registration.createdAt);
          const former = await trx<AgentRow & InChain>('agents')
            .where({ chain: claim.chain, agent: registration.agent })
            .forUpdate()
            .first();
          const agent = theirs(await putAgent(trx, claim.chain, registration, takeover));
          if (former !== undefined && former.trader !== agent.trader) await killNonces(trx, former, registration.createdAt);
          await appendJournal(trx, claim.chain, registration.createdAt, [...lostBy(former, agent), toldTo(agent)]);
          return agent;
        }),
      ),

    revokeAgent: (claim: MasterClaim, agent: Address, at: number): Promise<Agent | null> =>
      orNull(
        transaction(async (trx) => {
          await spendMasterMessage(trx, claim, at);
          const rows = await trx<AgentRow & InChain>('agents')
            .where({ chain: claim.chain, agent, trader: claim.trader })
            .update({ revoked_at: trx.raw('coalesce(revoked_at, ?)', [at]), version: trx.raw('version + 1') })
            .returning('*');
          const revoked = theirs(rows);
          await killNonces(trx, revoked, at);
          await appendJournal(trx, claim.chain, at, [toldTo(revoked)]);
          return revoked;
        }),
      ),

    saveApiKey: (claim: MasterClaim, { hash, label }: Omit<ApiKeyRecord, 'chain' | 'trader'>, at: number): Promise<void> =>
      transaction(async (trx) => {
        await spendMasterMessage(trx, claim, at);
        await trx('api_keys')
          .insert({ chain: claim.chain, trader: claim.trader, label, key_hash: hash, created_at: at })
          .onConflict(['chain', 'trader', 'label'])
          .merge(['key_hash', 'created_at']);
      }),

    async findApiKey(chain: ChainSlug, hash: string): Promise<ApiKeyRecord | null> {
      const row = await db<ApiKeyRow>('api_keys').where({ chain, key_hash: hash }).first('key_hash', 'trader', 'label');
      return row === undefined || !isSameHash(row.key_hash, hash) ? null : { chain, hash, trader: row.trader, label: row.label };
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
}

/** One row per agent, so of two traders who ask for it at once the second finds the first and `takeover` decides. */
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

/** A registration that ended stays ended for what was signed under it, also if the same trader registers the agent again. */
const killNonces = (trx: Knex.Transaction, { agent, trader, mode }: Pick<Agent, 'agent' | 'trader' | 'mode'>, at: number): Promise<void> =>
  mode === 'relayed' ? raiseFloor(trx, { agent, trader, floor: BigInt(at) }) : Promise.resolve();

/** What a registration keeps when it is made again: its age and its use, unless it goes to another trader. */
export const ofSameTrader = (trx: Knex.Transaction): Record<'created_at' | 'signed_at' | 'active_at', Knex.Raw> => ({
  created_at: trx.raw('case when agents.trader = excluded.trader then agents.created_at else excluded.created_at end'),
  signed_at: trx.raw('case when agents.trader = excluded.trader then agents.signed_at end'),
  active_at: trx.raw('case when agents.trader = excluded.trader then agents.active_at end'),
});

export const toldTo = (agent: Agent): Told => ({ trader: agent.trader, fact: { kind: 'agent', agent } });

/** To the trader whom it is taken from, the agent is revoked by that. */
export function lostBy(former: AgentRow | undefined, { trader, createdAt }: Agent): Told[] {
  if (former === undefined || former.trader === trader) return [];
  const lost = agentOf(former);
  return [toldTo({ ...lost, revokedAt: lost.revokedAt ?? createdAt })];
}

function theirs(rows: readonly AgentRow[]): Agent {
  const [row] = rows;
  if (row === undefined) throw new NotTheirs();
  return agentOf(row);
}

async function orNull<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotTheirs) return null;
    throw error;
  }
}

const isSameHash = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
