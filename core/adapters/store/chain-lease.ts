import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import type { Lease } from '../../tracking/tracking-store.js';
import { lease } from './named-lease.js';

/** It only spares work; that nothing is applied twice is the cursor's doing, which every change checks. */
export const leaseChain = (db: Knex, chain: ChainSlug): Promise<Lease | null> => lease(db, `follows ${chain}`);
