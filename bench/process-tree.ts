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
      const isNode = /^(?:node|MainThread)$/m.test(readFileSync(`/proc/${pid}/comm`, 'utf8'));
      return { mib: kib / 1024, cpuMs: processorMs(pid), isNode };
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

/**
 * As the scheduler counts it, in nanoseconds, for every thread. The ticks in /proc/<pid>/stat charge ten milliseconds to what runs at the
 * moment of a tick: on a shared machine that is nearly twice as much for a process that wakes often and briefly.
 */
function processorMs(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((total, thread) => {
    try {
      return total + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      return total; // the thread has ended meanwhile
    }
  }, 0);
}

export const folderMib = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce((total, name) => {
    const found = statSync(path.join(folder, name), { throwIfNoEntry: false });
    return total + (found?.isFile() === true ? found.size / 1024 / 1024 : 0);
  }, 0);
