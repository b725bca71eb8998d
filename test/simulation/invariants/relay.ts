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
}

/** Every transaction of the relayer's wallet in a block since the set-up; our tables are not read. */
export async function sentOnChain({ world, bots: { relayerWallet } }: Evidence): Promise<Sent[]> {
  const [chain] = world.venue.sandbox.controls.chains;
  const ask = async <Result>(method: string, ...params: unknown[]): Promise<Result> => (await chain?.request(method, params)) as Result;
  const head = Number(await ask<string>('eth_blockNumber'));
  const sent: Sent[] = [];
  for (let number = relayerWallet.block + 1; number <= head; number += 1) {
    const block = await ask<{ transactions: ChainTransaction[] }>('eth_getBlockByNumber', `0x${number.toString(16)}`, true);
    for (const transaction of block.transactions) {
      if (transaction.from.toLowerCase() !== relayerWallet.wallet) continue;
      const receipt = await ask<{ gasUsed: string; effectiveGasPrice: string }>('eth_getTransactionReceipt', transaction.hash);
      sent.push({ ...transaction, cost: BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice) + BigInt(transaction.value) });
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

/** Each transaction in a block is the only one of its job, and the job knows it; no nonce is missing; no call was made twice. */
export const oneTransactionPerJob: Invariant = async (evidence) => {
  const sent = await sentOnChain(evidence);
  const jobs = await evidence.world.gate.read<JobRow>(JOBS);
  const byHash = new Map(jobs.flatMap((job) => (job.hashes ?? []).map((hash) => [hash, job] as const)));
  const complaints: string[] = [];
  const used = new Map<string, string>();
  const inputs = new Map<string, string>();
  for (const [at, { hash, input, nonce }] of sent.entries()) {
    const job = byHash.get(hash);
    if (job === undefined) {
      complaints.push(`transaction ${hash} belongs to no job`);
      continue;
    }
    if (used.has(job.id)) complaints.push(`job ${job.id} has two transactions in blocks: ${used.get(job.id)} and ${hash}`);
    used.set(job.id, hash);
    if (job.mined?.hash !== hash) complaints.push(`job ${job.id} (${job.state}) does not know that ${hash} is in a block`);
    if (input !== '0x' && inputs.has(input)) complaints.push(`the call of job ${job.id} was also made by job ${inputs.get(input)}`);
    inputs.set(input, job.id);
    const expected = Number(sent[0]?.nonce ?? 0) + at;
    if (Number(nonce) !== expected) complaints.push(`nonce ${Number(nonce)} follows where ${expected} was due`);
  }
  for (const job of jobs)
    if (job.mined !== null && !sent.some(({ hash }) => hash === job.mined?.hash))
      complaints.push(`job ${job.id} counts as mined by ${job.mined.hash}, which is in no block`);
  return complaints;
};

/** What the chain took from the wallet is what the ledger says, to the wei. */
export const ledgerEqualsBalance: Invariant = async (evidence) => {
  const { world, bots } = evidence;
  const [chain] = world.venue.sandbox.controls.chains;
  const balance = BigInt((await chain?.request('eth_getBalance', [bots.relayerWallet.wallet, 'latest'])) as string);
  const spent = bots.relayerWallet.balance - balance;
  const costs = await world.gate.read<{ cost: string }>('select coalesce(sum(cost), 0)::text as cost from relay_costs where chain = $1', [
    SLUG,
  ]);
  const totals = await world.gate.read<{ cost: string }>(
    'select coalesce(sum(cost), 0)::text as cost from relay_cost_totals where chain = $1',
    [SLUG],
  );
  const onChain = (await sentOnChain(evidence)).reduce((sum, { cost }) => sum + cost, 0n);
  const figures = { spent, onChain, costs: BigInt(costs[0]?.cost ?? 0), totals: BigInt(totals[0]?.cost ?? 0) };
  const isEqual = [figures.onChain, figures.costs, figures.totals].every((figure) => figure === spent);
  return isEqual ? [] : [`the figures of the gas ledger differ: ${show(figures)}`];
};

/** A lane that was blocked is free again once its cause is gone. */
export const lanesAreFree: Invariant = async ({ world }) =>
  (
    await world.gate.read<{ wallet: string; fence_reason: string }>(
      'select wallet, fence_reason from relay_lanes where fenced_since is not null',
    )
  ).map(({ wallet, fence_reason }) => `the lane of ${wallet} is blocked: ${fence_reason}`);
