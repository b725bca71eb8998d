import { z } from 'zod';

/** The same for production and sandbox. */
export const POOL_VARIABLES = {
  DATABASE_POOL: z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(2, 'must be at least 2')
    .max(500, 'must be at most 500')
    .default(10),
};

/** Chains that are followed, and wallets that send on them. */
export interface LeaseHolders {
  readonly chains: number;
  readonly wallets: number;
}

/** Whoever follows a chain or sends from a wallet keeps a connection for as long as it does, on top of those that requests share. */
export const poolSizeFor = (shared: number, { chains, wallets }: LeaseHolders): number => shared + chains + wallets;

/** What the embedded server takes, less a few for the journal, migrations and whoever looks in. */
export const MOST_EMBEDDED = 50;
