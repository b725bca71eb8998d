import { createHash } from 'node:crypto';
import type { Logger } from '../../core/ports/log.js';
import type { Hex } from '../../core/types.js';
import type { Engine, RpcAnswer } from './engine.js';
import { blocksIn, gapsToSeconds, type AdminRecord, type BlockRecord, type CanonicalRecord, type JournalRecord } from './journal.js';
import type { Pool } from './pool.js';
import type { ChainEvents, RpcBlock, RpcLog } from './chain-node.js';

/**
 * The chain on top of the engine: mines blocks, stores each before it is announced, and can revert the last ones.
 * The engine reverts only to a snapshot and never frees an old one, whose size follows its fullest pool ever (2 MB after 3,000 pending
 * transactions). So snapshots are rare, and the blocks since the last ones are kept to be mined again.
 * Callers hold the gate exclusively.
 */
export interface Ledger {
  head(): RpcBlock;
  /** How many blocks can be reverted. */
  undoable(): number;
  /** How many blocks are kept to be mined again: bounded, however long the chain is. */
  remembered(): number;
  /** Mines one block with the pool's transactions. */
  mine(time: number): Promise<RpcBlock>;
  admin(method: string, params: readonly unknown[]): Promise<RpcAnswer>;
  reorg(depth: number, fate: ReorgFate): Promise<{ removed: readonly Hex[]; head: RpcBlock }>;
  /** Mines a stored chain again; throws at the first block that differs. */
  replay(records: readonly CanonicalRecord[], progress: (made: number, total: number) => void): Promise<void>;
}

/** What happens to the transactions of reverted blocks. */
export type ReorgFate = 'mine-again' | 'drop';

export interface LedgerOptions {
  engine: Engine;
  pool: Pool;
  events: ChainEvents;
  log: Logger;
  write: (records: readonly JournalRecord[], parentTime: number) => void;
}

const DEEPEST_REORG = 64;
const SNAPSHOT_BLOCKS = 512;
const SNAPSHOT_TRANSACTIONS = 128;
const RECONCILE_EVERY = 32;

interface Snapshot {
  id: Hex;
  block: RpcBlock;
  /** Blocks and admin calls since, oldest first. */
  since: (MadeBlock | AdminRecord)[];
  /** How many transactions a rewind executes again. */
  transactions: number;
}

type MadeBlock = BlockRecord & { height: number };

export const quantity = (value: number | bigint): Hex => `0x${value.toString(16)}`;
export const heightOf = (block: RpcBlock): number => Number(block.number);
const timeOf = (block: RpcBlock): number => Number(block.timestamp);

export async function createLedger({ engine, pool, events, log, write }: LedgerOptions): Promise<Ledger> {
  let head = await latest();
  let snapshots: Snapshot[] = [await snapshotHere()];

  function latest(): Promise<RpcBlock> {
    return engine.ask<RpcBlock>('eth_getBlockByNumber', ['latest', false]);
  }

  async function snapshotHere(): Promise<Snapshot> {
    return { id: await engine.ask<Hex>('evm_snapshot'), block: head, since: [], transactions: 0 };
  }

  function done(step: MadeBlock | AdminRecord): void {
    const last = snapshots.at(-1);
    if (last === undefined) return;
    last.since.push(step);
    if (step.kind === 'block') last.transactions += step.raw.length;
  }

  async function keepSnapshot(): Promise<void> {
    const last = snapshots.at(-1);
    if (last === undefined || (last.since.length < SNAPSHOT_BLOCKS && last.transactions < SNAPSHOT_TRANSACTIONS)) return;
    snapshots.push(await snapshotHere());
    const needed = snapshots.findLastIndex(({ block }) => heightOf(block) <= heightOf(head) - DEEPEST_REORG);
    if (needed > 0) snapshots = snapshots.slice(needed);
  }

  /** Mines a block from the pool and keeps it for a rewind, without storing or announcing it. */
  async function make(time: number, randao?: Hex): Promise<MadeBlock> {
    if (randao !== undefined) await engine.ask('hardhat_setPrevRandao', [randao]);
    const answer = await engine.request('evm_mine', [quantity(time)]);
    if ('error' in answer) {
      log.warn('chain.pool.evicted', { reason: answer.error.message, hashes: await pool.evictUnmineable(quantity(time)) });
      if (randao !== undefined) await engine.ask('hardhat_setPrevRandao', [randao]);
      await engine.ask('evm_mine', [quantity(time)]);
    }
    head = await latest();
    const raw = pool.settle(head.transactions);
    const made: MadeBlock = {
      kind: 'block',
      time,
      hash: head.hash,
      raw,
      ...(randao === undefined ? {} : { randao }),
      height: heightOf(head),
    };
    done(made);
    await keepSnapshot();
    if (heightOf(head) % RECONCILE_EVERY === 0) await pool.reconcile();
    return made;
  }

  async function remake(step: BlockRecord): Promise<void> {
    for (const raw of step.raw) {
      if (!(await pool.readd(raw))) throw new Error(`a transaction of block ${heightOf(head) + 1} is refused`);
    }
    const { hash } = await make(step.time, step.randao);
    if (hash !== step.hash) throw new Error(`block ${heightOf(head)} comes out as ${hash} instead of ${step.hash}`);
  }

  async function redo(step: AdminRecord): Promise<void> {
    await engine.ask(step.method, step.params);
    done(step);
  }

  async function announce(made: MadeBlock): Promise<void> {
    const block = made.hash === head.hash ? head : await engine.ask<RpcBlock>('eth_getBlockByHash', [made.hash, false]);
    const logs = hasLogs(block) ? await engine.ask<RpcLog[]>('eth_getLogs', [{ blockHash: made.hash }]) : [];
    events.block(block, logs);
  }

  /** Reverts to the block at `height`; returns what was done since, oldest first. */
  async function rewind(height: number): Promise<(MadeBlock | AdminRecord)[]> {
    const index = snapshots.findLastIndex(({ block }) => heightOf(block) <= height);
    const base = snapshots[index];
    if (base === undefined) throw new Error(`no snapshot at or below block ${height}`);
    const steps = snapshots.slice(index).flatMap(({ since }) => since);
    const fork = steps.findIndex((step) => step.kind === 'block' && step.height > height);
    await engine.ask('evm_revert', [base.id]); // consumes this snapshot and all later ones
    await pool.clear();
    head = base.block;
    snapshots = [...snapshots.slice(0, index), await snapshotHere()];
    for (const step of steps.slice(0, fork)) await (step.kind === 'block' ? remake(step) : redo(step));
    return steps.slice(fork);
  }

  async function replace(undone: readonly MadeBlock[], reinject: readonly Hex[]): Promise<MadeBlock[]> {
    const made: MadeBlock[] = [];
    let left = reinject;
    for (const [index, old] of undone.entries()) {
      left = await readdAll(left);
      made.push(await make(old.time, index === 0 ? randaoAfter(old.hash) : undefined));
    }
    // A transaction funded by another one is accepted only once that one is mined.
    left = await readdAll(left);
    if (left.length > 0) log.warn('chain.reorg.transactions_lost', { count: left.length });
    return made;
  }

  async function readdAll(raws: readonly Hex[]): Promise<Hex[]> {
    const refused: Hex[] = [];
    for (const raw of raws) if (!(await pool.readd(raw))) refused.push(raw);
    return refused;
  }

  /** Blocks out of reach of a reorg are mined without being kept, which is twice as fast. */
  async function replayRun(run: { gaps: string; hash: Hex | null }, remember: number): Promise<void> {
    let time = timeOf(head);
    const gaps = gapsToSeconds(run.gaps);
    const hasty = Math.max(0, Math.min(gaps.length, remember - heightOf(head)));
    for (const gap of gaps.slice(0, hasty)) await engine.ask('evm_mine', [quantity((time += gap))]);
    if (hasty > 0) {
      head = await latest();
      snapshots = [await snapshotHere()];
    }
    for (const gap of gaps.slice(hasty)) await make((time += gap));
    if (run.hash !== null && head.hash !== run.hash)
      throw new Error(`block ${heightOf(head)} comes out as ${head.hash} instead of ${run.hash}`);
  }

  return {
    head: () => head,
    undoable: () => Math.min(DEEPEST_REORG, heightOf(head) - heightOf(snapshots[0]?.block ?? head)),
    remembered: () => snapshots.reduce((sum, { since }) => sum + since.length, 0),
    async mine(time) {
      const parentTime = timeOf(head);
      const made = await make(time);
      write([recordOf(made)], parentTime);
      await announce(made);
      return head;
    },
    async admin(method, params) {
      const answer = await engine.request(method, params);
      if ('error' in answer) return answer;
      const record: AdminRecord = { kind: 'admin', method, params };
      write([record], timeOf(head));
      done(record);
      await pool.reconcile();
      return answer;
    },
    async reorg(depth, fate) {
      const to = heightOf(head) - depth;
      const removedLogs = await engine.ask<RpcLog[]>('eth_getLogs', [{ fromBlock: quantity(to + 1), toBlock: quantity(heightOf(head)) }]);
      const waiting = pool.waiting();
      const undone = await rewind(to);
      const blocks = undone.filter((step) => step.kind === 'block');
      const parentTime = timeOf(head);
      for (const step of undone) if (step.kind === 'admin') await redo(step);
      const again = fate === 'drop' ? [] : blocks.flatMap(({ raw }) => raw);
      const made = await replace(blocks, [...again, ...waiting]);
      write([{ kind: 'reorg', to }, ...made.map(recordOf)], parentTime);
      events.removed(removedLogs);
      for (const block of made) await announce(block);
      return { removed: blocks.map(({ hash }) => hash), head };
    },
    async replay(records, progress) {
      const total = records.reduce((sum, record) => sum + blocksIn(record), 0);
      for (const record of records) {
        if (record.kind === 'block') await remake(record);
        if (record.kind === 'empty') await replayRun(record, total - DEEPEST_REORG);
        if (record.kind === 'admin') await redo(record);
        progress(heightOf(head), total);
      }
    },
  };
}

const recordOf = ({ kind, time, hash, raw, randao }: MadeBlock): BlockRecord => ({
  kind,
  time,
  hash,
  raw,
  ...(randao === undefined ? {} : { randao }),
});

const hasLogs = (block: RpcBlock): boolean => /[1-9a-f]/.test(block.logsBloom.slice(2));

/** Differs from the replaced block's own and from that of every earlier replacement. */
const randaoAfter = (hash: Hex): Hex => `0x${createHash('sha256').update(hash).digest('hex')}`;
