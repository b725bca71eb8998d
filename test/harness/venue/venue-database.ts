import pg from 'pg';
import type { TestVenue } from './own-venue.js';

/** A separate connection to the database of a sandbox, to look at its rows or to lock them. */
export async function venueDatabase({ config }: Pick<TestVenue, 'config'>): Promise<pg.Client> {
  if (config.database.kind !== 'server') throw new Error('the sandbox keeps its database to itself');
  const client = new pg.Client(config.database.url);
  await client.connect();
  return client;
}
