import type { KnexStore } from '../core/adapters/postgres/create-store.js';
import type { ChainSlug } from '../core/chains/chains.js';
import type { Gateway } from '../core/gateway.js';
import type { Signer } from './load.js';

/** Agents put straight into the database: as many as a benchmark wants, without as many signatures. */

const COLUMNS = '(chain, agent, trader, name, mode, permissions, created_at)';
const database = ({ store }: Gateway) => (store as KnexStore).db;

/** Each is its own trader, so that no delegate has to be asked for. */
export async function storeAgents(of: Gateway, chain: ChainSlug, signers: readonly Signer[]): Promise<void> {
  for (const { address } of signers)
    await database(of).raw(`insert into agents ${COLUMNS} values (?, ?, ?, '', 'self', 'trade', 0)`, [chain, address, address]);
}

export async function storeCrowd(of: Gateway, chain: ChainSlug, count: number): Promise<void> {
  await database(of).raw(
    `insert into agents ${COLUMNS}
     select ?, '0xcc' || lpad(to_hex(n), 38, '0'), '0xdd' || lpad(to_hex(n), 38, '0'), 'crowd', 'self', 'trade', 0 from generate_series(1, ?) n`,
    [chain, count],
  );
  await database(of).raw('analyze agents');
}

export async function dropCrowd(of: Gateway): Promise<void> {
  await database(of).raw("delete from agents where name = 'crowd'");
  await database(of).raw('vacuum analyze agents');
}
