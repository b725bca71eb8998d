import { closeSync, existsSync, fdatasync, fdatasyncSync, ftruncateSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Cancel, Hex } from '../../core/types.js';

/**
 * A chain's log on disk. `append` returns when the operating system has the lines, so nothing announced afterwards is lost by kill -9;
 * fsync runs at most once a second. Only the last line is ever rewritten: a run of empty blocks that grows by one.
 */
export interface Journal {
  append(records: readonly JournalRecord[], parentTime: number): void;
  close(): void;
}

export interface JournalOptions {
  folder: string;
  clock: Clock;
  log: Logger;
}

export interface StoredJournal {
  header: HeaderRecord;
  records: JournalRecord[];
  /** The length of complete lines; the rest was torn by a crash. */
  length: number;
}

const FORCE_EVERY_MS = 1000;
const pathOf = (folder: string): string => join(folder, 'journal.jsonl');

/** Null if nothing is stored. Throws if lines before the last cannot be read. */
export function readJournal(folder: string): StoredJournal | null {
  if (!existsSync(pathOf(folder))) return null;
  const bytes = readFileSync(pathOf(folder));
  const lines: object[] = [];
  let length = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, length)) {
    const line = parseLine(bytes.toString('utf8', length, end));
    const isLast = end === bytes.length - 1;
    // Only the last line can be torn by a crash, and a complete first line that cannot be read is no header of ours.
    if (line === undefined && (!isLast || lines.length === 0)) throw new Error(`line ${lines.length + 1} cannot be read`);
    if (line === undefined) break;
    lines.push(line);
    length = end + 1;
  }
  const [header, ...records] = lines;
  if (header === undefined) return null;
  if (!isHeader(header)) throw new Error('it was written by another version');
  return { header, records: records as JournalRecord[], length };
}

const isHeader = (line: object): line is HeaderRecord =>
  'kind' in line && line.kind === 'header' && 'version' in line && line.version === 1;

function parseLine(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'kind' in value ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps an unusable journal for inspection; returns its new name. */
export function setJournalAside(folder: string, now: number): string {
  const aside = join(folder, `journal-${now}.unusable.jsonl`);
  renameSync(pathOf(folder), aside);
  return aside;
}

export function createJournal(options: JournalOptions, header: HeaderRecord): Journal {
  const file = openSync(pathOf(options.folder), 'w+', 0o600);
  const text = Buffer.from(`${JSON.stringify(header)}\n`);
  writeSync(file, text, 0, text.length, 0);
  return openedJournal(options, file, text.length);
}

export function reopenJournal(options: JournalOptions, length: number): Journal {
  const file = openSync(pathOf(options.folder), 'r+');
  ftruncateSync(file, length);
  return openedJournal(options, file, length);
}

function openedJournal({ clock, log }: JournalOptions, file: number, length: number): Journal {
  let end = length;
  /** The run in the last line, and where that line begins. */
  let run: { start: number; gaps: string } | null = null;
  let force: Cancel | null = null;

  function write(text: string, at: number): void {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, bytes.length - done, at + done);
    end = at + bytes.length;
    force ??= clock.after(FORCE_EVERY_MS, () => {
      force = null;
      fdatasync(file, (error) => {
        if (error !== null && error.code !== 'EBADF') log.warn('chain.journal.not_forced', { reason: error.message });
      });
    });
  }

  const line = (record: JournalRecord): string => `${JSON.stringify(record)}\n`;

  function extendRun(gap: string, record: JournalRecord & { kind: 'block' }): void {
    if (run === null || run.gaps.length >= LONGEST_RUN) run = { start: end, gaps: '' };
    run.gaps += gap;
    write(line({ kind: 'empty', gaps: run.gaps, hash: record.hash }), run.start);
  }

  return {
    append(records, parentTime) {
      const [only] = records;
      const gap = records.length === 1 && only?.kind === 'block' ? gapOf(only, parentTime) : null;
      if (gap !== null && only?.kind === 'block') {
        extendRun(gap, only);
        return;
      }
      run = null;
      write(records.map(line).join(''), end);
    },
    close() {
      force?.();
      fdatasyncSync(file);
      closeSync(file);
    },
  };
}

/** The history of a chain, in order: replaying it gives the same chain, hash for hash. One JSON line each. */

export interface HeaderRecord {
  kind: 'header';
  version: 1;
  chainId: number;
  genesisTime: number;
  genesis: Hex;
}

export interface BlockRecord {
  kind: 'block';
  time: number;
  hash: Hex;
  /** Signed transactions in block order. */
  raw: readonly Hex[];
  /** Set only if a reorg made the block differ from the one it replaced. */
  randao?: Hex;
}

/** Consecutive blocks without transactions: one character per block, the seconds since its parent in base 36. */
interface EmptyRecord {
  kind: 'empty';
  gaps: string;
  hash: Hex;
}

export interface AdminRecord {
  kind: 'admin';
  method: string;
  params: readonly unknown[];
}

interface WarpRecord {
  kind: 'warp';
  seconds: number;
}

/** Blocks above `to` are removed; admin calls made since stay, as they are not part of a block. */
interface ReorgRecord {
  kind: 'reorg';
  to: number;
}

export type JournalRecord = BlockRecord | EmptyRecord | AdminRecord | WarpRecord | ReorgRecord;

/** A record of the canonical chain. A run cut short by a reorg has no hash; the next block verifies it. */
export type CanonicalRecord = BlockRecord | { kind: 'empty'; gaps: string; hash: Hex | null } | AdminRecord | WarpRecord;

const LONGEST_RUN = 256;
const LONGEST_GAP = 35;

/** The character of an empty block in a run, or null if it needs a record of its own. */
function gapOf(block: BlockRecord, parentTime: number): string | null {
  const gap = block.time - parentTime;
  return block.raw.length > 0 || block.randao !== undefined || gap > LONGEST_GAP ? null : gap.toString(36);
}

export const gapsToSeconds = (gaps: string): number[] => Array.from(gaps, (character) => parseInt(character, 36));

export function blocksIn(record: CanonicalRecord): number {
  if (record.kind === 'empty') return record.gaps.length;
  return record.kind === 'block' ? 1 : 0;
}

/** The current chain: without reorganised blocks, but with the admin calls made among them. */
export function canonicalRecords(records: readonly JournalRecord[]): CanonicalRecord[] {
  const chain: CanonicalRecord[] = [];
  let height = 0;
  for (const record of records) {
    if (record.kind === 'reorg') {
      chain.push(...cut(chain, height - record.to));
      height = record.to;
      continue;
    }
    chain.push(record);
    height += blocksIn(record);
  }
  return chain;
}

/** Removes the last `depth` blocks from the chain and returns the other records among them. */
function cut(chain: CanonicalRecord[], depth: number): CanonicalRecord[] {
  const kept: CanonicalRecord[] = [];
  for (let left = depth; left > 0;) {
    const last = chain.pop();
    if (last === undefined) throw new Error('a reorg reaches below its first block');
    if (last.kind === 'empty' && last.gaps.length > left) chain.push({ ...last, gaps: last.gaps.slice(0, -left), hash: null });
    if (blocksIn(last) === 0) kept.unshift(last);
    left -= Math.min(left, blocksIn(last));
  }
  return kept;
}
