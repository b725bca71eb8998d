import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** A process and all that it started, as Linux shows them. */
export interface Usage {
  /** Each process's share of what it maps, so that memory used by several is counted once. */
  readonly mib: number;
  readonly mibOfNode: number;
  /** Processor time since their start. */
  readonly cpuMs: number;
  readonly processes: number;
}

/** Of the kernel's accounting, whatever the processor: 100 ticks a second. */
const TICK_MS = 10;

export function treeOf(top: number): readonly number[] {
  try {
    const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const parents = new Map(names.map((name) => [Number(name), parentOf(name)]));
    const isBelow = (pid: number): boolean => pid === top || (pid > 0 && isBelow(parents.get(pid) ?? 0));
    return [...parents.keys()].filter(isBelow);
  } catch {
    return [];
  }
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // gone meanwhile
  }
}

/** Null where the system does not tell. */
export function usageOf(tree: readonly number[]): Usage | null {
  if (tree.length === 0) return null;
  try {
    const each = tree.map((pid) => {
      const kib = Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [user, system] = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 13);
      return { mib: kib / 1024, cpuMs: (Number(user) + Number(system)) * TICK_MS, isNode: /\(node\)|\(MainThread\)/.test(stat) };
    });
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    return {
      mib: sum(each.map(({ mib }) => mib)),
      mibOfNode: sum(each.filter(({ isNode }) => isNode).map(({ mib }) => mib)),
      cpuMs: sum(each.map(({ cpuMs }) => cpuMs)),
      processes: tree.length,
    };
  } catch {
    return null;
  }
}

export const folderMib = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce((total, name) => {
    const found = statSync(path.join(folder, name), { throwIfNoEntry: false });
    return total + (found?.isFile() === true ? found.size / 1024 / 1024 : 0);
  }, 0);
