import { closeSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Cancel } from '../../core/types.js';

/**
 * One process per folder. The lock names its holder by process id and start time, so a lock left by kill -9 is distinguished from a live
 * one even if the id was reused by another process, as happens in containers.
 */

const heldHere = new Set<string>();

interface Holder {
  pid: number;
  started: string | null;
}

export function lockFolder(folder: string): Cancel {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'lock');
  if (heldHere.has(path)) throw inUse(folder, process.pid);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    if (tryCreate(path)) {
      heldHere.add(path);
      return () => {
        if (heldHere.delete(path)) rmSync(path, { force: true });
      };
    }
    const text = readText(path);
    if (text === null) continue;
    const holder = parseHolder(text);
    if (holder !== null && isAlive(holder)) throw inUse(folder, holder.pid);
    if (!setAside(path, text)) throw inUse(folder, holder?.pid ?? null);
  }
  throw inUse(folder, null);
}

const inUse = (folder: string, pid: number | null): Error =>
  new Error(
    `The folder ${folder} is in use by another sandbox${pid === null ? '' : ` (process ${pid})`}. Stop it, or choose another folder.`,
  );

function tryCreate(path: string): boolean {
  try {
    const file = openSync(path, 'wx', 0o600);
    const holder: Holder = { pid: process.pid, started: startOf(process.pid) };
    writeSync(file, JSON.stringify(holder));
    closeSync(file);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Two processes may find the same stale lock; after the rename the slower one detects that it moved the faster one's new lock and restores it. */
function setAside(path: string, expected: string): boolean {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return true;
    throw error;
  }
  const moved = readText(aside);
  if (moved !== expected) linkSync(aside, path);
  unlinkSync(aside);
  return moved === expected;
}

function isAlive({ pid, started }: Holder): boolean {
  if (pid === process.pid) return false; // not in heldHere: an earlier process had our id
  try {
    process.kill(pid, 0);
  } catch (error) {
    return isCode(error, 'EPERM');
  }
  return started === null || startOf(pid) === started;
}

/** Boot-relative start time of a process; null if the system does not provide it. */
function startOf(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

/** A partly written lock has no holder: its writer died during the write. */
function parseHolder(text: string): Holder | null {
  try {
    const { pid, started } = JSON.parse(text) as Partial<Holder>;
    return typeof pid === 'number' ? { pid, started: started ?? null } : null;
  } catch {
    return null;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

const isCode = (error: unknown, code: string): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code;
