import { jobTransitions, JOB_TRANSITIONS } from '../coverage.js';
import { SLUG, show, type Evidence, type Invariant } from './evidence.js';

interface ChainTransaction {
  readonly hash: string;
  readonly from: string;
  readonly input: string;
  readonly nonce: string;
  readonly value: string;
}

interface Sent extends ChainTransaction {
  readonly cost: bigint;
  readonly hasSucceeded: boolean;
}

/** Every transaction of the relayer's wallets in a block since the set-up; our tables are not read. */
export async function sentOnChain({ world, bots: { relayerWallets } }: Evidence): Promise<Sent[]> {
  const [chain] = world.venue.sandbox.controls.chains;
  const ask = async <Result>(method: string, ...params: unknown[]): Promise<Result> => (await chain?.request(method, params)) as Result;
  const head = Number(await ask<string>('eth_blockNumber'));
  const sent: Sent[] = [];
  const wallets = new Set<string>(relayerWallets.map(({ wallet }) => wallet));
  for (let number = Math.min(...relayerWallets.map(({ block }) => block)) + 1; number <= head; number += 1) {
    const block = await ask<{ transactions: ChainTransaction[] }>('eth_getBlockByNumber', `0x${number.toString(16)}`, true);
    for (const transaction of block.transactions) {
      if (!wallets.has(transaction.from.toLowerCase())) continue;
      const receipt = await ask<{ gasUsed: string; effectiveGasPrice: string; status: string }>(
        'eth_getTransactionReceipt',
        transaction.hash,
      );
      const cost = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice) + BigInt(transaction.value);
      sent.push({ ...transaction, cost, hasSucceeded: BigInt(receipt.status) === 1n });
    }
  }
  return sent;
}

interface JobRow {
  readonly id: string;
  readonly state: string;
  readonly is_over: boolean;
  readonly nonce: string | null;
  readonly note: string | null;
  readonly mined: { readonly hash: string; readonly costWei: unknown } | null;
  readonly purpose: string;
  readonly order_id: string | null;
  readonly hashes: readonly string[] | null;
}

const JOBS = `
  select job.id::text, state, is_over, nonce::text, note, mined, purpose, order_id::text,
    (select array_agg(hash) from relay_hashes where job_id = job.id) as hashes
  from relay_jobs job order by job.id`;

export const jobsHaveAnEnd: Invariant = async ({ world }) =>
  (await world.gate.read<JobRow>(JOBS))
    .filter((job) => !job.is_over)
    .map((job) => `job ${job.id} is still ${job.state}: ${job.note ?? ''}`);

/** The end of a job whose transaction is in a block, by its receipt: one without a call only uses up the nonce. */
const endOf = ({ input, hasSucceeded }: Sent): string => (input === '0x' ? 'replaced' : hasSucceeded ? 'mined' : 'reverted');

/** With an empty database a wallet begins where the chain is: what it sent before is not this database's. */
function sentBefore({ faults }: Evidence, sent: readonly Sent[], jobs: readonly JobRow[]): ReadonlySet<string> {
  if (!(faults.losses()?.swaps ?? []).some(({ kind }) => kind === 'emptied')) return new Set();
  const known = new Set(jobs.flatMap(({ hashes }) => hashes ?? []));
  const firstOf = (wallet: string): number =>
    Math.min(...sent.flatMap(({ hash, from, nonce }) => (from === wallet && known.has(hash) ? [Number(nonce)] : [])));
  return new Set(sent.flatMap(({ hash, from, nonce }) => (Number(nonce) < firstOf(from) ? [hash] : [])));
}

/** Each transaction in a block is the only one of its job, and the job knows it and its outcome; no nonce is missing; no call was made twice. */
export const oneTransactionPerJob: Invariant = async (evidence) => {
  const sent = await sentOnChain(evidence);
  const jobs = await evidence.world.gate.read<JobRow>(JOBS);
  const byHash = new Map(jobs.flatMap((job) => (job.hashes ?? []).map((hash) => [hash, job] as const)));
  const unknown = sentBefore(evidence, sent, jobs);
  const complaints: string[] = [];
  const used = new Map<string, string>();
  const calls = new Map<string, string>();
  const due = new Map<string, number>();
  for (const transaction of sent) {
    const { hash, input, nonce, from } = transaction;
    const job = byHash.get(hash);
    if (input !== '0x' && calls.has(input)) complaints.push(`the call of ${hash} was also made by ${calls.get(input)}`);
    calls.set(input, hash);
    const expected = due.get(from) ?? Number(nonce);
    due.set(from, expected + 1);
    if (Number(nonce) !== expected) complaints.push(`nonce ${Number(nonce)} of ${from} follows where ${expected} was due`);
    if (job === undefined) {
      if (!evidence.faults.foreign().has(hash) && !unknown.has(hash)) complaints.push(`transaction ${hash} belongs to no job`);
      continue;
    }
    if (used.has(job.id)) complaints.push(`job ${job.id} has two transactions in blocks: ${used.get(job.id)} and ${hash}`);
    used.set(job.id, hash);
    if (job.mined?.hash !== hash) complaints.push(`job ${job.id} (${job.state}) does not know that ${hash} is in a block`);
    else if (job.state !== endOf(transaction) && job.purpose !== 'no-op')
      complaints.push(`job ${job.id} is ${job.state}, and by its receipt ${hash} is ${endOf(transaction)}`);
  }
  for (const job of jobs)
    if (job.mined !== null && !sent.some(({ hash }) => hash === job.mined?.hash))
      complaints.push(`job ${job.id} counts as mined by ${job.mined.hash}, which is in no block`);
  return complaints;
};

/** A transaction that was made has an order that is on chain, or was. */
const UNKNOWN_ORDERS = `
  select job.id::text as job, orders.id::text, orders.status from relay_jobs job
  join orders on orders.chain = job.chain and orders.id = job.order_id
  where job.state = 'mined' and job.purpose = 'action' and job.context ->> 'kind' = 'order' and orders.status in ('prepared', 'expired')`;

const ACTIONS_TWICE = `
  select signer, nonce::text from relay_actions action
  where exists (select from relay_jobs job where job.parent = action.id) group by chain, signer, nonce having count(*) > 1`;

/** Every transaction that was made is known by its order, and no signed action has been executed twice. */
export const minedJobsHaveOrders: Invariant = async ({ world: { gate } }) => [
  ...(await gate.read<{ job: string; id: string; status: string }>(UNKNOWN_ORDERS)).map(
    ({ job, id, status }) => `job ${job} is mined, and its order ${id} is ${status}`,
  ),
  ...(await gate.read<{ signer: string; nonce: string }>(ACTIONS_TWICE)).map(
    ({ signer, nonce }) => `two actions of ${signer} with the nonce ${nonce} have transactions`,
  ),
];

const sumOfCosts = (sent: readonly Sent[]): bigint => sent.reduce((sum, { cost }) => sum + cost, 0n);

/** What the chain took from the wallet for the relayer is what the ledger says, to the wei. */
export const ledgerEqualsBalance: Invariant = async (evidence) => {
  const { world, bots, faults } = evidence;
  const [chain] = world.venue.sandbox.controls.chains;
  const sent = await sentOnChain(evidence);
  // After lost commits a transaction without a call counts as one of ours, whoever sent it.
  const jobs = await world.gate.read<JobRow>(JOBS);
  const known = new Set(jobs.flatMap(({ hashes }) => hashes ?? []));
  const unknown = sentBefore(evidence, sent, jobs);
  const sumOf = async (table: string, wallet: string): Promise<bigint> => {
    const sql = `select coalesce(sum(cost), 0)::text as cost from ${table} where chain = $1 and wallet = $2`;
    return BigInt((await world.gate.read<{ cost: string }>(sql, [SLUG, wallet]))[0]?.cost ?? 0);
  };
  const complaints: string[] = [];
  for (const { wallet, balance } of bots.relayerWallets) {
    const spent = balance - BigInt((await chain?.request('eth_getBalance', [wallet, 'latest'])) as string);
    const own = sent.filter(({ from }) => from.toLowerCase() === wallet);
    const foreign = sumOfCosts(own.filter(({ hash }) => unknown.has(hash) || (faults.foreign().has(hash) && !known.has(hash))));
    const onChain = sumOfCosts(own) - foreign;
    const [costs, totals] = [await sumOf('relay_costs', wallet), await sumOf('relay_cost_totals', wallet)];
    if (![onChain, costs, totals].every((figure) => figure === spent - foreign))
      complaints.push(`the figures of the gas ledger of ${wallet} differ: ${show({ spent, foreign, onChain, costs, totals })}`);
  }
  return complaints;
};

/** Of all jobs that a budget limits: those that open, and those that change a level, an order or the margin. */
const LIMITED_COSTS = `
  select job.wallet, sum(cost.cost)::text as cost, case when $1 then cost.mined_at / 86400000 end as day
  from relay_jobs job left join orders on orders.chain = job.chain and orders.id = job.order_id
  join relay_costs cost on cost.chain = job.chain and cost.job_id = job.id
  where job.purpose = 'action' and coalesce(orders.state ->> 'action', 'change') in ('open', 'increase', 'change') and job.context ->> 'kind' <> 'cancel'
  group by 1, 3`;

/** What a wallet pays for openings and changes stays within its budget of the day; closes and cancels are sent beyond it. */
export const budgetsHold: Invariant = async ({ world, plan: { dailyBudget, msToMidnight } }) =>
  dailyBudget === 'unlimited'
    ? []
    : (await world.gate.read<{ wallet: string; cost: string }>(LIMITED_COSTS, [msToMidnight !== null]))
        .filter(({ cost }) => BigInt(cost) > dailyBudget)
        .map(({ wallet, cost }) => `${wallet} paid ${cost} wei for openings and changes, and its budget is ${dailyBudget}`);

/** Each step of a job is a row of its table. */
export const jobsFollowTable: Invariant = async ({ world }) => {
  const allowed = new Set(Object.entries(JOB_TRANSITIONS).flatMap(([before, row]) => row.map((after) => `job ${before} ${after}`)));
  return [...new Set(await jobTransitions(world))].filter((step) => !allowed.has(step)).map((step) => `not in the table: ${step}`);
};

const OPENINGS = `
  select job.trader, count(*)::integer as openings, case when $1 then job.created_at / 86400000 end as day
  from relay_jobs job join orders on orders.chain = job.chain and orders.id = job.order_id
  where job.purpose = 'action' and job.mined is not null and orders.state ->> 'action' = 'open'
  group by 1, 3`;

/** The relayer pays for no more openings than the quota allows, however many replicas accept orders at the same time. */
export const quotaHolds: Invariant = async ({ world, plan }) =>
  (await world.gate.read<{ trader: string; openings: number }>(OPENINGS, [plan.msToMidnight !== null]))
    .filter(({ openings }) => openings > plan.dailyTransactions)
    .map(({ trader, openings }) => `${openings} openings of ${trader} were sent, and ${plan.dailyTransactions} are allowed`);

/** A lane that was blocked is free again once its cause is gone. */
export const lanesAreFree: Invariant = async ({ world }) =>
  (
    await world.gate.read<{ wallet: string; blocked_reason: string }>(
      'select wallet, blocked_reason from relay_lanes where blocked_since is not null',
    )
  ).map(({ wallet, blocked_reason }) => `the lane of ${wallet} is blocked: ${blocked_reason}`);
