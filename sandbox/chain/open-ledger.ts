import type { Hex } from '../../core/types.js';
import type { ChainEvents, ChainNodeOptions } from './chain-node.js';
import { createEngine, type Engine } from './engine.js';
import { lockFolder } from './folder-lock.js';
import {
  canonicalRecords,
  createJournal,
  readJournal,
  reopenJournal,
  setJournalAside,
  type HeaderRecord,
  type Journal,
  type JournalRecord,
  type StoredJournal,
} from './journal.js';
import { createLedger, type Ledger } from './ledger.js';
import { createPool, type Pool } from './pool.js';

/** What was restored from a data folder. */
export interface Restored {
  blocks: number;
  warpedSeconds: number;
  /** Why a stored chain was not restored, and where it was moved; null if it was restored, or there was none. */
  discarded: { reason: string; movedTo: string } | null;
}

export interface OpenLedger {
  engine: Engine;
  pool: Pool;
  ledger: Ledger;
  /** Null for a chain without a folder. */
  journal: Journal | null;
  restored: Restored;
}

interface Parts {
  engine: Engine;
  pool: Pool;
  ledger: Ledger;
  genesis: Hex;
  /** Sets the journal after the ledger is created, as the journal's header contains the genesis block. */
  connect: (journal: Journal) => void;
}

export async function openLedger(options: ChainNodeOptions, events: ChainEvents): Promise<OpenLedger> {
  const genesisTime = options.genesisTime ?? Math.floor(options.clock.now() / 1000);
  const nothing: Restored = { blocks: 0, warpedSeconds: 0, discarded: null };
  const { dataDir } = options;
  if (dataDir === undefined) return { ...(await build(options, events, genesisTime)), journal: null, restored: nothing };
  const unlock = lockFolder(dataDir);
  try {
    const opened = await openFolder(options, dataDir, events, genesisTime);
    const close = (): void => {
      opened.journal.close();
      unlock();
    };
    return { ...opened, journal: { ...opened.journal, close } };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function build(options: ChainNodeOptions, events: ChainEvents, genesisTime: number): Promise<Parts> {
  const engine = await createEngine({ chainId: options.chainId, genesisTime, balances: options.balances });
  const pool = createPool(engine, (tx) => events.pending(tx));
  let journal: Journal | null = null;
  const write = (records: readonly JournalRecord[], parentTime: number): void => journal?.append(records, parentTime);
  const ledger = await createLedger({ engine, pool, events, log: options.log, write });
  return { engine, pool, ledger, genesis: ledger.head().hash, connect: (made) => (journal = made) };
}

async function openFolder(
  options: ChainNodeOptions,
  folder: string,
  events: ChainEvents,
  genesisTime: number,
): Promise<OpenLedger & { journal: Journal }> {
  const journaling = { folder, clock: options.clock, log: options.log };
  const restored = await tryRestore(options, folder, events);
  if (restored !== null && 'parts' in restored) {
    const journal = reopenJournal(journaling, restored.stored.length);
    restored.parts.connect(journal);
    return { ...restored.parts, journal, restored: { blocks: restored.blocks, warpedSeconds: restored.warpedSeconds, discarded: null } };
  }
  const parts = await build(options, events, genesisTime);
  const header: HeaderRecord = { kind: 'header', version: 1, chainId: options.chainId, genesisTime, genesis: parts.genesis };
  const journal = createJournal(journaling, header);
  parts.connect(journal);
  return { ...parts, journal, restored: { blocks: 0, warpedSeconds: 0, discarded: restored } };
}

type Attempt = { parts: Parts; stored: StoredJournal; blocks: number; warpedSeconds: number } | { reason: string; movedTo: string } | null;

async function tryRestore(options: ChainNodeOptions, folder: string, events: ChainEvents): Promise<Attempt> {
  try {
    const stored = readJournal(folder);
    return stored === null ? null : await restore(options, stored, events);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const movedTo = setJournalAside(folder, options.clock.now());
    options.log.warn('chain.journal.unusable', { chainId: options.chainId, reason, movedTo });
    return { reason, movedTo };
  }
}

async function restore(options: ChainNodeOptions, stored: StoredJournal, events: ChainEvents): Promise<Attempt> {
  const { header, records } = stored;
  if (header.chainId !== options.chainId) throw new Error(`it is of chain ${header.chainId}`);
  const parts = await build(options, events, header.genesisTime);
  if (parts.genesis !== header.genesis) throw new Error('it begins with another genesis block');
  const chain = canonicalRecords(records);
  await parts.ledger.replay(chain, options.onProgress ?? (() => undefined));
  const warpedSeconds = chain.reduce((sum, record) => sum + (record.kind === 'warp' ? record.seconds : 0), 0);
  return { parts, stored, blocks: Number(parts.ledger.head().number), warpedSeconds };
}
