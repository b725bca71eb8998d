import type { Hex } from '../../core/types.js';
import type { Engine, RpcAnswer } from './engine.js';
import { gethError, overspent } from './geth-errors.js';

/**
 * The pending transactions. The engine holds them too, but neither returns the signed bytes nor tolerates a sender whose transactions
 * together exceed its balance (its next block then fails as a whole), so both are handled here.
 */
export interface Pool {
  /** eth_sendRawTransaction with geth's errors. Transactions of one turn of the event loop are accepted as one batch, in their order. */
  send(raw: unknown): Promise<RpcAnswer>;
  /** Adds a transaction again after a reorg; false if the engine refuses it in the current state. */
  readd(raw: Hex): Promise<boolean>;
  /** Returns the signed bytes of a block's transactions, and removes them and everything they outdate. */
  settle(hashes: readonly Hex[]): Hex[];
  /** Signed bytes in order of arrival. */
  waiting(): Hex[];
  isEmpty(): boolean;
  drop(hash: Hex): Promise<boolean>;
  /** Empties the engine's pool and ours. */
  clear(): Promise<void>;
  /** Drops what the engine has dropped by itself, and cached balances: the state was changed from outside. */
  reconcile(): Promise<void>;
  /** Drops the transactions of every sender that makes a block fail. */
  evictUnmineable(time: Hex): Promise<Hex[]>;
}

export interface PoolTransaction {
  hash: Hex;
  from: Hex;
  nonce: Hex;
  value: Hex;
  gas: Hex;
  gasPrice?: Hex;
  maxFeePerGas?: Hex;
}

interface Arriving {
  readonly raw: unknown;
  readonly answer: (answer: RpcAnswer | Promise<RpcAnswer>) => void;
}

interface Entry {
  hash: Hex;
  raw: Hex;
  from: Hex;
  nonce: number;
  cost: bigint;
}

const costOf = (tx: PoolTransaction): bigint => BigInt(tx.gas) * BigInt(tx.maxFeePerGas ?? tx.gasPrice ?? 0) + BigInt(tx.value);

export function createPool(engine: Engine, announce: (tx: PoolTransaction) => void): Pool {
  const entries = new Map<Hex, Entry>();
  const bySender = new Map<Hex, Map<number, Entry>>();
  /** As of the latest block; cleared with every block and state change. */
  const balances = new Map<Hex, bigint>();
  let arriving: Arriving[] = [];
  /** One batch after the other, so that transactions only the engine has belong to the current batch. */
  let taking: Promise<void> = Promise.resolve();

  function remember(entry: Entry): void {
    const own = bySender.get(entry.from) ?? new Map<number, Entry>();
    const replaced = own.get(entry.nonce);
    if (replaced !== undefined) entries.delete(replaced.hash);
    entries.set(entry.hash, entry);
    bySender.set(entry.from, own.set(entry.nonce, entry));
  }

  function forget(entry: Entry): void {
    entries.delete(entry.hash);
    const own = bySender.get(entry.from);
    if (own?.get(entry.nonce) === entry) own.delete(entry.nonce);
    if (own?.size === 0) bySender.delete(entry.from);
  }

  async function balanceOf(sender: Hex): Promise<bigint> {
    const balance = balances.get(sender) ?? BigInt(await engine.ask<Hex>('eth_getBalance', [sender, 'latest']));
    balances.set(sender, balance);
    return balance;
  }

  async function overspend({ from }: Entry): Promise<string | null> {
    const own = bySender.get(from);
    if (own === undefined || own.size < 2) return null; // a single one was checked by the engine
    const cost = [...own.values()].reduce((sum, entry) => sum + entry.cost, 0n);
    const balance = await balanceOf(from);
    return cost > balance ? overspent(balance, cost) : null;
  }

  async function drop(hash: Hex): Promise<boolean> {
    const entry = entries.get(hash);
    if (entry !== undefined) forget(entry);
    return engine.ask<boolean>('hardhat_dropTransaction', [hash]);
  }

  async function accept(raw: Hex, tx: PoolTransaction): Promise<RpcAnswer> {
    const { hash } = tx;
    const entry: Entry = { hash, raw, from: tx.from, nonce: Number(tx.nonce), cost: costOf(tx) };
    remember(entry);
    const refusal = await overspend(entry);
    if (refusal !== null) {
      await drop(hash);
      return { error: { code: -32000, message: refusal } };
    }
    return { result: hash };
  }

  async function sendOne(raw: unknown): Promise<RpcAnswer> {
    const answer = await engine.request('eth_sendRawTransaction', raw === undefined ? [] : [raw]);
    if ('error' in answer) return { error: gethError(answer.error) };
    return admit(raw as Hex, await engine.ask<PoolTransaction>('eth_getTransactionByHash', [answer.result]));
  }

  async function admit(raw: Hex, tx: PoolTransaction): Promise<RpcAnswer> {
    const accepted = await accept(raw, tx);
    if ('result' in accepted) announce(tx);
    return accepted;
  }

  async function takeArrived(): Promise<void> {
    const arrived = arriving;
    arriving = [];
    const raws = arrived.map(({ raw }) => raw);
    const taken = raws.length > 1 && raws.every(isHex) ? await takeTogether(raws).catch(() => null) : null;
    for (const [at, { raw, answer }] of arrived.entries()) {
      const tx = taken?.[at];
      const answered = tx === undefined ? sendOne(raw) : admit(raw as Hex, tx);
      answer(answered);
      await answered.catch(() => undefined);
    }
  }

  /** The transactions as the engine has them, or null if they must be sent one by one: one was refused, or conflicts with another. */
  async function takeTogether(raws: readonly Hex[]): Promise<readonly PoolTransaction[] | null> {
    const hashes = await engine.inOneGo(raws.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] })));
    const seen = hashes && (await engine.inOneGo(hashes.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] }))));
    if (seen?.every((tx) => tx !== null)) return seen as readonly PoolTransaction[];
    await restorePool();
    return null;
  }

  /** Removes transactions that only the engine has, and restores those they replaced. */
  async function restorePool(): Promise<void> {
    const waiting = (await engine.ask<PoolTransaction[]>('eth_pendingTransactions')).map(({ hash }) => hash);
    for (const hash of waiting) if (!entries.has(hash)) await engine.ask('hardhat_dropTransaction', [hash]);
    const left = new Set(waiting);
    for (const { hash, raw } of entries.values()) if (!left.has(hash)) await engine.request('eth_sendRawTransaction', [raw]);
  }

  return {
    send(raw) {
      // By the next tick, all transactions of one message have arrived.
      if (arriving.length === 0) process.nextTick(() => void (taking = taking.then(takeArrived)));
      return new Promise((answer) => arriving.push({ raw, answer }));
    },
    async readd(raw) {
      const answer = await engine.request('eth_sendRawTransaction', [raw]);
      if ('error' in answer) return false;
      return 'result' in (await accept(raw, await engine.ask<PoolTransaction>('eth_getTransactionByHash', [answer.result])));
    },
    settle(hashes) {
      balances.clear();
      return hashes.map((hash) => {
        const mined = entries.get(hash);
        if (mined === undefined) throw new Error(`Transaction ${hash} was mined but never sent.`);
        for (const entry of bySender.get(mined.from)?.values() ?? []) if (entry.nonce <= mined.nonce) forget(entry);
        return mined.raw;
      });
    },
    waiting: () => [...entries.values()].map(({ raw }) => raw),
    isEmpty: () => entries.size === 0,
    drop,
    async clear() {
      for (const { hash } of await engine.ask<PoolTransaction[]>('eth_pendingTransactions'))
        await engine.ask('hardhat_dropTransaction', [hash]);
      entries.clear();
      bySender.clear();
      balances.clear();
    },
    async reconcile() {
      balances.clear();
      if (entries.size === 0) return;
      const pending = new Set((await engine.ask<PoolTransaction[]>('eth_pendingTransactions')).map(({ hash }) => hash));
      for (const entry of [...entries.values()]) if (!pending.has(entry.hash)) forget(entry);
    },
    async evictUnmineable(time) {
      const evicted: Hex[] = [];
      for (const [sender, own] of [...bySender]) {
        if (await mineable(engine, sender, time)) continue;
        for (const { hash } of [...own.values()]) {
          evicted.push(hash);
          await drop(hash);
        }
      }
      return evicted;
    },
  };
}

const isHex = (raw: unknown): raw is Hex => typeof raw === 'string' && /^0x(?:[0-9a-f]{2})+$/i.test(raw);

/** Mines a block with this sender's transactions alone, and reverts it. */
async function mineable(engine: Engine, sender: Hex, time: Hex): Promise<boolean> {
  const snapshot = await engine.ask<Hex>('evm_snapshot');
  for (const { hash, from } of await engine.ask<PoolTransaction[]>('eth_pendingTransactions')) {
    if (from !== sender) await engine.ask('hardhat_dropTransaction', [hash]);
  }
  const answer = await engine.request('evm_mine', [time]);
  await engine.ask('evm_revert', [snapshot]);
  return 'result' in answer;
}
