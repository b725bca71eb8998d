import { decodeEventLog, decodeFunctionResult, encodeFunctionData, formatUnits, toFunctionSelector } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { Address, Hex } from '../../../core/types.js';
import { RpcFailure, type ChainNode } from '../../../sandbox/chain/chain-node.js';
import { CUT_SELECTOR, laterFacets, laterTopic, LOGGER, loggedCut, topicOf, type Facet } from '../../harness/diamond/cut-diamond.js';
import { controlCall } from '../../harness/diamond/diamond-calls.js';
import type { SimulatedClock } from '../simulated-clock.js';
import type { NodeFault } from '../venue.js';
import type { World } from '../world.js';
import { SLUG } from '../invariants/evidence.js';
import type { Fault } from './fault-table.js';

/** The protocol changes its contract: facets log their outcomes under other topics, and facets are cut. */
export interface ContractFaults {
  /** Outcomes are logged under another topic. Returns what puts the facets back. */
  changeEvents(fault: Fault): Promise<() => Promise<void>>;
  /** The same facets are cut in again. */
  cut(): Promise<() => void>;
  /** What replicas read of the node: `next` answers what is as ever. */
  readonly reading: (next: NodeFault) => NodeFault;
  /** Every outcome is known: once the facets are as before, the operator or a new release says what was logged meanwhile. */
  settle(withinMs: number): Promise<void>;
}

/** The names of the changed events, by the lowest bit of the amount; the next bit says that each change is logged. */
const CHANGED = [['MarketExecuted'], ['MarketExecuted', 'MarketOpenCanceled']] as const;
const namesOf = ({ amount }: Fault): (typeof CHANGED)[number] => CHANGED[(amount & 1) as 0 | 1];
const isLogged = ({ amount }: Fault): boolean => amount > 1;

/** Every topic that may be another one, with what this release knows it as. */
export const LATER_TOPICS: ReadonlyMap<Hex, Hex> = new Map(CHANGED[1].map((name) => [laterTopic(topicOf(name)), topicOf(name)]));
export const FACET_SELECTOR = toFunctionSelector('facetAddress(bytes4)').slice(2);

const placed = (base: number, at: number): Address => `0x${(0xfac0_0000 + base * 0x100 + at).toString(16).padStart(40, '0')}`;
const LOGGER_ADDRESS = placed(CHANGED.length, 0);

/** The code of all changed facets, before anything happens: no reorganisation takes it back, and no transaction is needed. */
export async function placeLaterFacets(node: ChainNode): Promise<void> {
  await node.admin('hardhat_setCode', [LOGGER_ADDRESS, LOGGER]);
  for (const [base, names] of CHANGED.entries())
    for (const [at, { code }] of laterFacets(names).entries()) await node.admin('hardhat_setCode', [placed(base, at), code]);
}

interface Parts {
  readonly world: World;
  readonly clock: SimulatedClock;
  readonly track: (work: Promise<unknown>) => void;
  /** A call of the operator at any replica that answers. */
  readonly operate: (method: string, path: string, body: unknown) => Promise<unknown>;
}

const SET_GAS = 12_000_000n;
const LOOK_EVERY_MS = 1_000;
const SETTLE_MS = 40_000;
const UNREAD = `
  select distinct tx_hash, (select block_number::integer from chain_cursors where chain = $1) as reached
  from (select null as tx_hash union all select tx_hash from unread_transactions where chain = $1 and settled_at is null) as found`;

const RENAME_TRIES = 20;
const RENAME = `
  update unread_transactions set logs = replace(logs::text, $1, $2)::jsonb
  where ctid = any (array(select ctid from unread_transactions where settled_at is null for update skip locked))`;
const NOT_RENAMED = `
  select count(*)::text as count from unread_transactions where settled_at is null and position($1 in logs::text) > 0`;

interface UnreadRow {
  readonly tx_hash: Hex | null;
  readonly reached: number | null;
}

export function createContractFaults({ world, clock, track, operate }: Parts): ContractFaults {
  const { venue, gate, replicas, scheduler } = world;
  const [chain] = venue.sandbox.chains;
  if (chain === undefined) throw new Error('the sandbox has no chain');
  const { node, controls } = chain;
  const { diamond } = controls.definition;
  let original: readonly Facet[] | null = null;
  let isReleased = false;
  let isByOperator = true;
  let isSilent = 0;

  async function facets(): Promise<readonly Facet[]> {
    const call = { to: diamond, data: encodeFunctionData({ abi: diamondAbi, functionName: 'facets' }) };
    const data = (await node.request('eth_call', [call, 'latest'])) as Hex;
    return decodeFunctionResult({ abi: diamondAbi, functionName: 'facets', data });
  }

  async function set(table: readonly Facet[], logs: boolean): Promise<void> {
    const others = table.filter(({ functionSelectors }) => !functionSelectors.includes(CUT_SELECTOR));
    const logger = { facetAddress: LOGGER_ADDRESS, functionSelectors: [CUT_SELECTOR] };
    const data = logs ? loggedCut([...others, logger]) : controlCall('sandboxSetFacets', [others]);
    await controls.operator.send({ to: diamond, data, gas: SET_GAS });
  }

  /** The facets that log outcomes are those of the start. */
  async function isAsBefore(): Promise<boolean> {
    const now = new Map((await facets()).map(({ facetAddress, functionSelectors }) => [functionSelectors[0], facetAddress]));
    return original?.every(({ facetAddress, functionSelectors }) => now.get(functionSelectors[0]) === facetAddress) ?? true;
  }

  /** By the receipt, read with the topics that this release does not know. */
  async function settleByHand(txHash: Hex): Promise<void> {
    const receipt = (await node.request('eth_getTransactionReceipt', [txHash])) as { readonly logs: readonly Log[] } | null;
    const [outcome] = (receipt?.logs ?? []).flatMap(({ topics: [topic, ...more], data }) => {
      const known = LATER_TOPICS.get(topic);
      return known === undefined ? [] : [decodeEventLog({ abi: diamondAbi, topics: [known, ...more], data })];
    });
    if (outcome?.eventName === 'MarketExecuted') {
      const { t, marketPrice } = outcome.args;
      await operate('POST', '/contract/settle', {
        chain: SLUG,
        txHash,
        as: 'filled',
        tradeIndex: t.index,
        price: formatUnits(marketPrice, 10),
      });
    } else if (outcome !== undefined) await operate('POST', '/contract/settle', { chain: SLUG, txHash, as: 'rejected' });
  }

  /** A row that a replica has locked is taken in the next try: its transaction goes on only while the simulation does. */
  async function rename(later: Hex, known: Hex): Promise<void> {
    for (let tries = 0; tries < RENAME_TRIES; tries += 1) {
      await gate.read(RENAME, [later, known]);
      const [left] = await gate.read<{ count: string }>(NOT_RENAMED, [later]);
      if (left?.count === '0') return;
      await clock.sleep(LOOK_EVERY_MS);
    }
  }

  /** A release that knows the topics: to this one it is as if the node, and what was kept, had those that it knows. */
  async function release(): Promise<void> {
    isReleased = true;
    for (const [later, known] of LATER_TOPICS) await rename(later, known);
    for (const replica of [...replicas.values()]) {
      if (!replica.isAlive() || replica.gateway() === null || scheduler.stateOf(replica.name) !== 'running') continue;
      await replica.stop();
      replica.kill(() => true);
      await world.start(replica.name);
    }
  }

  async function settle(withinMs: number): Promise<void> {
    if (original === null) return;
    let sentAt = Number.NEGATIVE_INFINITY;
    let backAt: bigint | null = null;
    const until = scheduler.now() + withinMs;
    while (scheduler.now() < until) {
      if (!(await isAsBefore())) {
        // A reorganisation may have lost the transaction.
        if (scheduler.now() >= sentAt + 5 * LOOK_EVERY_MS) await set(original, false);
        sentAt = Math.max(sentAt, scheduler.now());
        backAt = null;
      } else {
        backAt ??= (await node.head()).number;
        const rows = await gate.read<UnreadRow>(UNREAD, [SLUG]);
        const unread = rows.flatMap(({ tx_hash }) => tx_hash ?? []);
        if (unread.length === 0 && BigInt(rows[0]?.reached ?? 0) >= backAt) return;
        if (unread.length > 0 && !isByOperator) await release();
        else for (const txHash of unread) await settleByHand(txHash);
      }
      await clock.sleep(LOOK_EVERY_MS);
    }
  }

  return {
    settle,
    async changeEvents(fault) {
      const current = await facets();
      original ??= current;
      isByOperator = fault.isHarsh;
      const later = laterFacets(namesOf(fault));
      const base = fault.amount & 1;
      const table = original.map((facet) => {
        const at = later.findIndex(({ selector }) => selector === facet.functionSelectors[0]);
        return at < 0 ? facet : { ...facet, facetAddress: placed(base, at) };
      });
      await set(table, isLogged(fault));
      return async () => {
        await set(original ?? current, isLogged(fault));
        track(settle(SETTLE_MS));
      };
    },
    async cut() {
      isSilent += 1;
      await set(await facets(), true);
      return () => void (isSilent -= 1);
    },
    reading: (next) => (replica, method, params, ask) => {
      const [call] = params as readonly [{ readonly data?: string }?];
      if (isSilent > 0 && method === 'eth_call' && call?.data?.includes(FACET_SELECTOR) === true)
        return Promise.resolve({ error: { code: -32603, message: 'internal error' } });
      return next(replica, method, params, isReleased ? () => readLater(node, method, params) : ask);
    },
  };
}

interface Log {
  readonly topics: [Hex, ...Hex[]];
  readonly data: Hex;
}

async function readLater(node: ChainNode, method: string, params: readonly unknown[]): ReturnType<Parameters<NodeFault>[3]> {
  try {
    const asked = method === 'eth_getLogs' ? params.map((filter) => withLaterTopics(filter as Filter)) : params;
    const result = (await node.request(method, asked)) ?? null;
    if (method !== 'eth_getLogs' && method !== 'eth_getTransactionReceipt') return { result };
    const text = [...LATER_TOPICS].reduce((all, [later, known]) => all.replaceAll(later, known), JSON.stringify(result));
    return { result: JSON.parse(text) as unknown };
  } catch (error) {
    if (error instanceof RpcFailure) return { error: { code: error.code, message: error.message, data: error.data } };
    throw error;
  }
}

interface Filter {
  readonly topics?: readonly (readonly Hex[] | Hex | null)[];
}

function withLaterTopics(filter: Filter): Filter {
  const [first, ...more] = filter.topics ?? [];
  if (!Array.isArray(first)) return filter;
  const wanted = first as readonly Hex[];
  const later = [...LATER_TOPICS].flatMap(([other, known]) => (wanted.includes(known) ? [other] : []));
  return { ...filter, topics: [[...wanted, ...later], ...more] };
}
