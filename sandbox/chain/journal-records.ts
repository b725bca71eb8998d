import type { Hex } from '../../core/types.js';

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
export interface EmptyRecord {
  kind: 'empty';
  gaps: string;
  hash: Hex;
}

export interface AdminRecord {
  kind: 'admin';
  method: string;
  params: readonly unknown[];
}

export interface WarpRecord {
  kind: 'warp';
  seconds: number;
}

/** Blocks above `to` are removed; admin calls made since stay, as they are not part of a block. */
export interface ReorgRecord {
  kind: 'reorg';
  to: number;
}

export type JournalRecord = BlockRecord | EmptyRecord | AdminRecord | WarpRecord | ReorgRecord;

/** A record of the canonical chain. A run cut short by a reorg has no hash; the next block verifies it. */
export type CanonicalRecord = BlockRecord | { kind: 'empty'; gaps: string; hash: Hex | null } | AdminRecord | WarpRecord;

export const LONGEST_RUN = 256;
const LONGEST_GAP = 35;

/** The character of an empty block in a run, or null if it needs a record of its own. */
export function gapOf(block: BlockRecord, parentTime: number): string | null {
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
