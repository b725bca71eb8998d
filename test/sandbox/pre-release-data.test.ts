import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { startEmbeddedPostgres } from '../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { setAsidePreRelease } from '../../sandbox/ground.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { makeTemporaryFolder } from '../harness/database/temporary-folder.js';
import { useSandboxProcesses } from '../harness/process/sandbox-processes.js';

const log = createRecordedLog();
const setAside = (root: string): Promise<string | null> =>
  setAsidePreRelease(root, { clock: systemClock, log, signal: new AbortController().signal });

let folder: string;
beforeEach(async () => (folder = await makeTemporaryFolder('pre-release-data')));
afterEach(() => rm(folder, { recursive: true, force: true }));

/** As a pre-release left it, but for the contents. */
function leaveData(root: string, database = 'postgres'): void {
  mkdirSync(path.join(root, database, 'cluster'), { recursive: true });
  mkdirSync(path.join(root, 'chains/arbitrum-sepolia'), { recursive: true });
  writeFileSync(path.join(root, 'chains/arbitrum-sepolia/blocks'), 'its chain');
  writeFileSync(path.join(root, 'prices.json'), 'its prices');
  writeFileSync(path.join(root, 'notes.txt'), 'not ours');
}

describe('data of a pre-release', () => {
  it.each(['postgres', 'database'])('is moved aside whole, also from the folder %s, and files that are not ours stay', async (database) => {
    leaveData(folder, database);
    const aside = (await setAside(folder)) ?? '';
    expect(readdirSync(folder).sort()).toEqual(['notes.txt', path.basename(aside)]);
    expect(readdirSync(aside).sort()).toEqual(['chains', database, 'prices.json'].sort());
    expect(readFileSync(path.join(aside, 'chains/arbitrum-sepolia/blocks'), 'utf8')).toBe('its chain');
    expect(await setAside(folder)).toBeNull();
  });

  it('stays where it is while the pre-release runs on it', async () => {
    const server = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres'), log, clock: systemClock, durable: false });
    try {
      await expect(setAside(folder)).rejects.toMatchObject({ problem: 'folder-in-use' });
      expect(readdirSync(folder)).toEqual(['postgres']);
    } finally {
      await server.stop();
    }
    const aside = (await setAside(folder)) ?? '';
    expect(existsSync(path.join(aside, 'postgres/cluster/data/PG_VERSION'))).toBe(true);
  });

  it('is none in a folder of this release, or in an empty one', async () => {
    expect(await setAside(folder)).toBeNull();
    mkdirSync(path.join(folder, 'database-1'));
    expect(await setAside(folder)).toBeNull();
    expect(readdirSync(folder)).toEqual(['database-1']);
  });
});

describe('a sandbox', () => {
  const { playground, start, readyUrl } = useSandboxProcesses();

  it('that finds data of a pre-release says in one line where it was moved, and starts afresh', async () => {
    const data = path.join(playground().folder, 'data');
    leaveData(data);
    const sandbox = start({ SANDBOX_DATA: data });
    const [, root, aside = ''] = await sandbox.until(
      /the data in (\S+) was made by a pre-release; starting afresh \(it was moved to (\S+)\)/,
    );
    expect(root).toBe(data);
    expect(readdirSync(aside).sort()).toEqual(['chains', 'postgres', 'prices.json']);
    expect((await fetch(`${await readyUrl(sandbox)}/ready`)).status).toBe(200);
    expect(readdirSync(data)).toContain('database-1');
    sandbox.child.kill('SIGINT');
    expect(await sandbox.exit).toEqual({ code: 0, signal: null });
  });
});
