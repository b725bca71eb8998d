import { z } from 'zod';

/** The same for production and sandbox. */
export const POOL_VARIABLES = {
  DATABASE_POOL: z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(2, 'must be at least 2')
    .max(500, 'must be at most 500')
    .optional(),
};

/** Indexed chains, and wallets that send on them. */
export interface Writers {
  readonly chains: number;
  readonly wallets: number;
}

/** Shared by requests; the indexer of each chain and the lane of each wallet need connections in addition. */
const FOR_REQUESTS = 8;
const FOR_A_CHAIN = 2;

export const poolSizeFor = (given: number | undefined, { chains, wallets }: Writers): number =>
  given ?? FOR_REQUESTS + FOR_A_CHAIN * chains + wallets;

/** Connections of a gateway outside its pool: for the journal, and for its leases. */
export const BESIDE_THE_POOL = 2;

/** The embedded server's limit, minus connections outside the pool, migrations and manual sessions. */
export const MOST_EMBEDDED = 50;
