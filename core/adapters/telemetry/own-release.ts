import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

export interface Release {
  readonly version: string;
  /** Null without a git checkout: images and packages get their commit from the build. */
  readonly commit: string | null;
}

const COMMIT = /^[0-9a-f]{40,64}$/;

/** The running release, from the first of these folders that contains the package. */
export function readRelease(folders: readonly string[]): Release {
  for (const folder of folders) {
    const text = readOrNull(path.join(folder, 'package.json'));
    if (text !== null) return { version: (JSON.parse(text) as { version: string }).version, commit: checkedOut(folder) };
  }
  return { version: 'unknown', commit: null };
}

/** Reads git's files, because git may not be installed: HEAD contains a commit, or a branch whose file or packed ref does. */
function checkedOut(folder: string): string | null {
  const git = gitFolder(path.join(folder, '.git'));
  const head = git === null ? null : readOrNull(path.join(git, 'HEAD'));
  if (git === null || head === null) return null;
  const [, branch] = /^ref: (.+)$/.exec(head) ?? [];
  if (branch === undefined) return known(head);
  const shared = path.resolve(git, readOrNull(path.join(git, 'commondir')) ?? '.');
  return known(readOrNull(path.join(shared, branch)) ?? packed(shared, branch));
}

/** A linked working tree has a file that points to its git folder. */
function gitFolder(place: string): string | null {
  if (statSync(place, { throwIfNoEntry: false })?.isDirectory() === true) return place;
  const [, elsewhere] = /^gitdir: (.+)$/.exec(readOrNull(place) ?? '') ?? [];
  return elsewhere === undefined ? null : path.resolve(path.dirname(place), elsewhere);
}

const packed = (folder: string, branch: string): string | null =>
  readOrNull(path.join(folder, 'packed-refs'))
    ?.split('\n')
    .find((line) => line.endsWith(` ${branch}`))
    ?.split(' ')[0] ?? null;

const known = (text: string | null): string | null => (text !== null && COMMIT.test(text) ? text : null);

/** The commit is optional, so a read failure is ignored. */
function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return null;
  }
}
