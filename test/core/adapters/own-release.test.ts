import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readRelease } from '../../../core/adapters/telemetry/own-release.js';

let folder: string;
const git = (...words: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim();

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'release-'));
  writeFileSync(path.join(folder, 'package.json'), '{"version":"1.2.3"}');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function commit(): string {
  git('init', '--quiet');
  git('add', 'package.json');
  git('commit', '--quiet', '--message', 'first');
  return git('rev-parse', 'HEAD');
}

describe('a release', () => {
  it('has the version of its package, and of nothing that lies elsewhere', () => {
    expect(readRelease([path.join(folder, 'dist'), folder])).toEqual({ version: '1.2.3', commit: null });
    expect(readRelease([path.join(folder, 'dist')])).toEqual({ version: 'unknown', commit: null });
  });

  it('has the commit of a branch, also when git has packed it', () => {
    const made = commit();
    expect(readRelease([folder])).toEqual({ version: '1.2.3', commit: made });
    git('pack-refs', '--all');
    expect(readRelease([folder]).commit).toBe(made);
  });

  it('has the commit that is checked out without a branch', () => {
    const made = commit();
    git('checkout', '--quiet', '--detach');
    expect(readRelease([folder]).commit).toBe(made);
  });

  it('has the commit of a second working tree', () => {
    const made = commit();
    git('worktree', 'add', '--quiet', 'second');
    expect(readRelease([path.join(folder, 'second')]).commit).toBe(made);
  });

  it('has none where the history is broken or has not begun', () => {
    git('init', '--quiet');
    expect(readRelease([folder]).commit).toBeNull();
    mkdirSync(path.join(folder, 'other'));
    writeFileSync(path.join(folder, 'other/package.json'), '{"version":"1"}');
    writeFileSync(path.join(folder, 'other/.git'), 'gitdir: nowhere');
    expect(readRelease([path.join(folder, 'other')])).toEqual({ version: '1', commit: null });
  });
});
