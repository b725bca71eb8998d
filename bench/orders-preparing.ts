import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../core/adapters/system/clock.js';
import { done, type AgentTrader, type Json } from '../test/harness/traders/agent-trader.js';
import { quantile } from './median.js';

/** Enough for the compiler to have seen what runs often: a gateway lives for weeks, its first minute is reported separately. */
const COLD = 100;
const WARM_UP = 3_000;
const [BLOCKS, BLOCK] = [20, 72];
/** Orders that are under way at the same moment in a gateway that is busy. */
const AT_ONCE = 24;
/** What an order leaves to be done behind its answer is done by then: it is streamed, its address is counted. */
const SETTLE_MS = 400;
const IDLE_MS = 600;

/** Milliseconds of processor time for one order. */
export interface Cost {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export interface Preparing {
  /** The mean of the first orders of a process. */
  readonly first: number;
  /** Each order comes when the one before is answered: the machine falls asleep and is woken for every message of it. */
  readonly apart: Cost;
  /** Orders come while others are under way, as they do when a core is busy. */
  readonly together: Cost;
  /** Milliseconds of processor time a second of the gateway without requests; taken off. */
  readonly idle: number;
}

export interface PreparingOptions {
  readonly gateway: ChildProcess;
  readonly agent: AgentTrader;
  readonly order: (changes?: Json) => Json;
  /** A file for the profile of what is measured together, and of nothing else. */
  readonly profile: string | undefined;
}

/**
 * Processor time of the gateway's process, all threads. Orders come in blocks, so that asking for the time costs a small part of what is
 * measured; between blocks there are no requests, which shows what following the chain and the prices costs meanwhile.
 */
export async function measurePreparing({ gateway, agent, order, profile }: PreparingOptions): Promise<Preparing> {
  const create = async (turn: number): Promise<void> =>
    void done(await agent.create(turn % 2 ? order() : order({ type: 'market', price: undefined })));
  const lane = async (first: number, count: number, lanes: number): Promise<void> => {
    for (let turn = first; turn < count; turn += lanes) await create(turn);
  };
  const block = async (count: number, lanes: number): Promise<Spent> =>
    spend(gateway, async () => {
      await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first, count, lanes)));
      await systemClock.sleep(SETTLE_MS);
    });
  const rest = (): Promise<Spent> => spend(gateway, () => systemClock.sleep(IDLE_MS));

  const early = await rest();
  const cold = await block(COLD, 1);
  await block(WARM_UP, AT_ONCE);
  if (profile !== undefined) await ask(gateway, { profile });
  const [apart, together, idle]: [Spent[], Spent[], Spent[]] = [[], [], []];
  for (let turn = 0; turn < BLOCKS; turn += 1) {
    idle.push(await rest());
    together.push(await block(BLOCK, AT_ONCE));
  }
  if (profile !== undefined) await ask(gateway, { profile });
  for (let turn = 0; turn < BLOCKS / 2; turn += 1) apart.push(await block(BLOCK, 1));
  const perMs = quantile(idle.map(shareOf), 0.5);
  const costOf = (blocks: readonly Spent[]): Cost => {
    const each = blocks.map(({ cpuMs, ms }) => (cpuMs - ms * perMs) / BLOCK);
    return { median: quantile(each, 0.5), low: quantile(each, 0.1), high: quantile(each, 0.9) };
  };
  return {
    first: (cold.cpuMs - cold.ms * shareOf(early)) / COLD,
    apart: costOf(apart),
    together: costOf(together),
    idle: perMs * 1000,
  };
}

interface Spent {
  readonly ms: number;
  readonly cpuMs: number;
}

const shareOf = ({ cpuMs, ms }: Spent): number => cpuMs / ms;

async function spend(gateway: ChildProcess, work: () => Promise<unknown>): Promise<Spent> {
  const [since, before] = [performance.now(), await cpuOf(gateway)];
  await work();
  return { cpuMs: (await cpuOf(gateway)) - before, ms: performance.now() - since };
}

async function cpuOf(gateway: ChildProcess): Promise<number> {
  const { user, system } = await ask(gateway, 'cpu');
  return (user + system) / 1000;
}

async function ask(gateway: ChildProcess, question: 'cpu' | { readonly profile: string }): Promise<NodeJS.CpuUsage> {
  gateway.send(question);
  const [used] = (await once(gateway, 'message')) as [NodeJS.CpuUsage];
  return used;
}
