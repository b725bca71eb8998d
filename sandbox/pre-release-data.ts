import { existsSync, mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { dataFolder } from '../core/adapters/postgres/embedded/cluster.js';
import { waitUntilFree, type Occupied } from '../core/adapters/postgres/embedded/occupancy.js';

/** Pre-releases kept their database under this name; no step leads from its schema to the present one. */
const DATABASE = 'postgres';
/** What they kept. The database is moved last, so that the next start finishes what an interrupted one began. */
const KEPT = ['prices.json', 'chains', DATABASE];

/**
 * Moves the data of a pre-release into a folder beside it and returns that folder; null if there is none. The chain goes along, because
 * agents and signatures of its traders are in the database. Throws if a pre-release still runs on the data.
 */
export async function setAsidePreRelease(root: string, options: Pick<Occupied, 'clock' | 'log' | 'signal'>): Promise<string | null> {
  const database = path.join(root, DATABASE);
  if (!existsSync(database)) return null;
  await waitUntilFree({ ...options, folder: database, dataFolder: dataFolder(database) });
  const aside = path.join(root, `pre-release-${options.clock.now()}`);
  mkdirSync(aside, { mode: 0o700 });
  for (const name of KEPT) if (existsSync(path.join(root, name))) renameSync(path.join(root, name), path.join(aside, name));
  return aside;
}
