import type { Knex } from 'knex';
import { MAX_AGENTS } from '../../ports/stores/access.js';
import type { AgentApproval, AgentRemoval, ApprovalOutcome } from '../../ports/stores/signers.js';
import type { NonceVerdict } from '../../access/signer-nonces.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { Agent } from '../../domain/agent.js';
import type { Address } from '../../types.js';
import { agentEntry, deleteOldestAgents, endRegistration, lockAccess, lockAgent, lostBy, ofSameTrader } from './access-store.js';
import { agentOf, scopeColumns, type AgentRow } from './agent-row.js';
import { appendJournal } from './journal-rows.js';
import { raiseFloor, takeNonce } from './take-nonce.js';
import { inTransaction } from './statement.js';

type Row = AgentRow & { readonly chain: ChainSlug; readonly signed_at: bigint | null };

/** Rolls the transaction back, including the nonce. */
class Refused extends Error {
  readonly outcome: ApprovalOutcome;
  constructor(outcome: ApprovalOutcome) {
    super(outcome.kind);
    this.outcome = outcome;
  }
}

export async function approveAgent(db: Knex, approval: AgentApproval): Promise<ApprovalOutcome> {
  try {
    return await inTransaction(db, (trx) => approve(trx, approval));
  } catch (error) {
    if (error instanceof Refused) return error.outcome;
    throw error;
  }
}

/** Locks the trader's nonces first, so that approvals and removals of one trader are serialised. */
async function approve(trx: Knex.Transaction, approval: AgentApproval): Promise<ApprovalOutcome> {
  const { chain, nonce, registration, proof, floor, maxNamed } = approval;
  const { agent, trader, name, createdAt } = registration;
  const verdict = await takeNonce(trx, trader, nonce);
  if (verdict.kind !== 'taken') throw new Refused({ kind: 'nonce', verdict });
  // Same lock order as the native front end: the trader first, then the rows of the agent.
  await lockAccess(trx, chain, trader);
  await lockAgent(trx, agent);
  await raiseFloor(trx, { agent, trader, floor });
  const known: Row[] = await trx<Row>('agents').where({ agent }).forUpdate();
  if (isChanged(known, approval)) throw new Refused({ kind: 'changed' });
  if (isRemoved(known, approval)) throw new Refused({ kind: 'used' });
  const former = known.find((row) => row.chain === chain);
  const replaced = await revoke(trx, { chain, trader, name, at: createdAt }, agent);
  if (name !== '' && (await countNamed(trx, chain, trader, agent)) >= maxNamed) throw new Refused({ kind: 'too-many', most: maxNamed });
  if (!(await deleteOldestAgents(trx, chain, registration))) throw new Refused({ kind: 'too-many', most: MAX_AGENTS });
  if (former !== undefined) await keepFormerApproval(trx, chain, former);
  const saved = await put(trx, chain, registration, former);
  const signed = { chain, agent, envelope: proof, approved_at: createdAt };
  await trx('agent_approvals').insert(signed).onConflict(['chain', 'agent']).merge(['envelope', 'approved_at']);
  if (former !== undefined && former.trader !== trader) await endRegistration(trx, chain, former, createdAt);
  await appendJournal(trx, chain, createdAt, [...lostBy(former, saved), ...[...replaced, saved].map(agentEntry)]);
  return { kind: 'done', agent: saved };
}

/** Only where its trader sent an action since: renewals without one leave nothing behind, and nothing needs them. */
async function keepFormerApproval(trx: Knex.Transaction, chain: ChainSlug, { agent, trader }: Row): Promise<void> {
  await trx.raw(
    `insert into former_approvals (chain, agent, trader, envelope, approved_at)
     select chain, agent, :trader, envelope, approved_at from agent_approvals
     where chain = :chain and agent = :agent and approved_at <= (
       select received_at from relay_actions where chain = :chain and trader = :trader order by id desc limit 1)`,
    { chain, agent, trader },
  );
}

/** Registrations of other traders were checked before the transaction; one that was added, changed or used since is checked again. */
function isChanged(known: readonly Row[], { registration: { agent, trader }, passed }: AgentApproval): boolean {
  if (agent === trader) return false;
  const isPassed = (row: Row): boolean =>
    passed.some((each) => each.chain === row.chain && each.version === row.version && each.hasSigned === (row.signed_at !== null));
  return known.some((row) => row.trader !== trader && !isPassed(row));
}

/** An agent key that its trader removed stays removed. A wallet may always act for itself, also after it removed itself. */
function isRemoved(known: readonly Row[], { chain, registration: { agent, trader } }: AgentApproval): boolean {
  if (agent === trader) return false;
  const own = known.filter((row) => row.trader === trader);
  const here = own.find((row) => row.chain === chain);
  return here === undefined ? own.some((row) => row.revoked_at !== null) : here.revoked_at !== null;
}

async function countNamed(trx: Knex.Transaction, chain: ChainSlug, trader: Address, except: Address): Promise<number> {
  const rows = await trx<Row>('agents')
    .where({ chain, trader, mode: 'relayed', revoked_at: null })
    .whereNot('name', '')
    .whereNot('agent', except)
    .select('agent');
  return rows.length;
}

async function revoke(
  trx: Knex.Transaction,
  { chain, trader, name, at }: Omit<AgentRemoval, 'nonce'>,
  except: Address | null,
): Promise<Agent[]> {
  const query = trx<Row>('agents').where({ chain, trader, name, mode: 'relayed', revoked_at: null });
  if (except !== null) query.whereNot('agent', except);
  const rows = await query.update({ revoked_at: BigInt(at), version: trx.raw('version + 1') }).returning('*');
  for (const row of rows) await endRegistration(trx, chain, row, at);
  return rows.map(agentOf);
}

async function put(
  trx: Knex.Transaction,
  chain: ChainSlug,
  registration: AgentApproval['registration'],
  former: Row | undefined,
): Promise<Agent> {
  const { agent, trader, name, mode, scope, createdAt } = registration;
  const columns = { trader, name, mode, ...scopeColumns(scope) };
  const query = trx('agents')
    .insert({ chain, agent, ...columns, created_at: createdAt })
    .onConflict(['chain', 'agent'])
    .merge({ ...columns, ...ofSameTrader(trx), revoked_at: null, version: trx.raw('agents.version + 1') });
  // The row that was read is locked; a row of another trader inserted since is not, and must be checked first.
  query.where((allowed) => {
    allowed.where('agents.trader', trader);
    if (agent === trader) allowed.orWhereRaw('true');
    else if (former !== undefined) allowed.orWhere('agents.version', former.version.toString());
  });
  const [row] = (await query.returning('*')) as AgentRow[];
  if (row === undefined) throw new Refused({ kind: 'changed' });
  return agentOf(row);
}

export async function removeAgent(trx: Knex.Transaction, removal: AgentRemoval): Promise<NonceVerdict> {
  const { chain, trader, nonce, at } = removal;
  const verdict = await takeNonce(trx, trader, nonce);
  if (verdict.kind !== 'taken') return verdict;
  const removed = await revoke(trx, removal, null);
  await appendJournal(trx, chain, at, removed.map(agentEntry));
  return verdict;
}
