import type { PublicClient } from 'viem';
import type { ChainSlug } from '../../../core/chains/chains.js';
import type { Address, Hex } from '../../../core/types.js';
import type { RelayJob, RelayStore } from '../../../core/ports/stores/relay.js';
import { eventually } from '../time/eventually.js';

/** What a wallet of a relayer owned at a block, so that everything it spends from there on can be accounted for. */
export interface Purse {
  readonly client: PublicClient;
  readonly wallet: Address;
  readonly block: bigint;
  readonly balance: bigint;
}

export async function openPurse(client: PublicClient, wallet: Address): Promise<Purse> {
  const block = await client.getBlockNumber({ cacheTime: 0 });
  return { client, wallet, block, balance: await client.getBalance({ address: wallet, blockNumber: block }) };
}

interface Sent {
  readonly hash: Hex;
  readonly input: Hex;
  readonly nonce: number;
  readonly cost: bigint;
}

/** Every transaction of the wallet that is in a block, as the chain has it; our tables are not read. */
async function sentOnChain({ client, wallet, block }: Purse, head: bigint): Promise<Sent[]> {
  const numbers = Array.from({ length: Number(head - block) }, (_, at) => block + BigInt(at) + 1n);
  const blocks = await Promise.all(numbers.map((blockNumber) => client.getBlock({ blockNumber, includeTransactions: true })));
  const own = blocks.flatMap(({ transactions }) => transactions.filter(({ from }) => from.toLowerCase() === wallet));
  return Promise.all(
    own.map(async ({ hash, input, nonce, value }) => {
      const { gasUsed, effectiveGasPrice } = await client.getTransactionReceipt({ hash });
      return { hash, input, nonce, cost: gasUsed * effectiveGasPrice + value };
    }),
  );
}

export interface Books {
  readonly slug: ChainSlug;
  readonly store: RelayStore;
  /** Transactions that another program sent with the wallet's key. */
  readonly strangers?: readonly Hex[];
  /** Wei that came in since the purse was opened. */
  readonly funded?: bigint;
}

/**
 * What holds after every fault: each transaction in a block is the only one of its job, each order's job is the only one of its order, no
 * nonce is missing, and what the chain took from the wallet is what the receipts say and what the books say, to the wei.
 */
export async function expectRelayInvariants(purse: Purse, { slug, store, strangers = [], funded = 0n }: Books): Promise<void> {
  const { client, wallet } = purse;
  await eventually(
    () => store.open(slug, wallet),
    (open) => open.length === 0,
  );
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const sent = await sentOnChain(purse, head);
  const ours = sent.filter(({ hash }) => !strangers.includes(hash));
  const jobs = await Promise.all(ours.map(({ hash }) => store.jobByHash(slug, hash)));
  expect(sent.map(({ nonce }) => nonce)).toEqual(sent.map((_, at) => at + (sent[0]?.nonce ?? 0)));
  expect(jobs.map((job) => job?.mined?.hash)).toEqual(ours.map(({ hash }) => hash));
  expectOnce(jobs.flatMap((job) => (job === null ? [] : [job.id])));
  expectOnce(ordersOf(jobs));
  expectOnce(ours.filter(({ input }) => input !== '0x').map(({ input }) => input));
  const spent = purse.balance + funded - (await client.getBalance({ address: wallet, blockNumber: head }));
  expect(sum(sent.map(({ cost }) => cost))).toBe(spent);
  const books = await store.settledIn(slug, wallet, await store.minedBlocks(slug, wallet, 1_000_000_000), 0);
  const booked = books.flatMap(({ mined }) => (mined === null || mined.blockNumber <= purse.block ? [] : [mined.costWei]));
  const foreign = sent.filter(({ hash }) => strangers.includes(hash)).map(({ cost }) => cost);
  expect(sum(booked) + sum(foreign)).toBe(spent);
}

const sum = (parts: readonly bigint[]): bigint => parts.reduce((total, part) => total + part, 0n);

const expectOnce = (values: readonly unknown[]): void => expect(new Set(values).size).toBe(values.length);

/** Orders with a mined call of their own; a no-op in its place is none. */
const ordersOf = (jobs: readonly (RelayJob | null)[]): bigint[] =>
  jobs.flatMap((job) => (job?.purpose === 'action' && job.state !== 'replaced' ? (job.orderId ?? []) : []));
