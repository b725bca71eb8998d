import { createHash } from 'node:crypto';
import type { World } from '../world.js';
import type { LossWatch } from './loss-watch.js';

/** Remembers the rows of the journal as they were, to compare them with the rows as they are at the end. */
export interface JournalWatch {
  look(): Promise<void>;
  /** Rows that are gone or different, rows out of sequence. */
  complaints(): Promise<string[]>;
}

interface Row {
  readonly trader: string;
  readonly cursor: string;
  readonly text: string;
}

const ROWS = `select trader, cursor::text, row_to_json(journal)::text as text from journal order by trader, journal.cursor`;

/** Noted by a trigger, whenever it happens. */
const CHANGES = `select id::text, after from seen_transitions where subject = 'journal' order by seq`;

const GAPS = 'select trader, after_cursor::text as after, next_cursor::text as next from journal_gaps';
/** After a loss the journal of an account whose rows were lost begins at a multiple of this. */
const GAP = 2n ** 32n;

export function watchJournal({ gate }: World, losses: LossWatch | null): JournalWatch {
  const seen = new Map<string, string>();
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  return {
    async look() {
      for (const { trader, cursor, text } of await gate.read<Row>(ROWS)) {
        const key = `${trader} ${cursor}`;
        // As it was first seen: a row that is changed between two looks must not count as it is then.
        if (!seen.has(key)) seen.set(key, digest(text));
      }
    },
    async complaints() {
      const rows = await gate.read<Row>(ROWS);
      const now = new Map(rows.map(({ trader, cursor, text }) => [`${trader} ${cursor}`, digest(text)]));
      const lost = new Set((losses?.swaps ?? []).flatMap((swap) => [...swap.lost]));
      const changed = [...seen]
        .filter(([key, before]) => now.get(key) !== before && !(lost.has(`cursor ${key}`) && !now.has(key)))
        .map(([key]) => `journal row ${key} was changed or removed`);
      const isLoss = losses?.swaps.some(({ kind }) => kind !== 'same') === true;
      const kept = await gate.read<{ trader: string; after: string; next: string }>(GAPS);
      const jumps = new Set(kept.map(({ trader, after, next }) => `${trader} ${after} ${next}`));
      /** Of several losses in a row each has a gap. */
      const isJump = (trader: string, after: bigint, next: bigint): boolean =>
        isLoss &&
        ((after === 0n && next % GAP === 1n) ||
          jumps.has(`${trader} ${after} ${next}`) ||
          kept.some((gap) => gap.trader === trader && BigInt(gap.after) === after && isJump(trader, BigInt(gap.next) - 1n, next)));
      const last = new Map<string, bigint>();
      const gaps = rows.flatMap(({ trader, cursor }) => {
        const before = last.get(trader) ?? 0n;
        last.set(trader, BigInt(cursor));
        return BigInt(cursor) === before + 1n || isJump(trader, before, BigInt(cursor))
          ? []
          : [`the journal of ${trader} goes from ${before} to ${cursor}`];
      });
      const clocks = await gate.read<{ trader: string; cursor: string }>('select trader, cursor::text from account_cursors');
      const ahead = clocks
        .filter(({ trader, cursor }) => BigInt(cursor) !== (last.get(trader) ?? 0n))
        .filter(({ trader, cursor }) => !isJump(trader, last.get(trader) ?? 0n, BigInt(cursor) + 1n))
        .map(({ trader, cursor }) => `the cursor of ${trader} says ${cursor}, its journal ends with ${last.get(trader) ?? 0n}`);
      const touched = await gate.read<{ id: string; after: string }>(CHANGES);
      return [...changed, ...touched.map(({ id, after }) => `journal row ${id} was met by ${after}`), ...gaps, ...ahead];
    },
  };
}
