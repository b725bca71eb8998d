import { z } from 'zod';
import { EpochMs } from '../../core/schema.js';

/** What the service says of itself, as it travels. */

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const Hash = z.string().regex(/^0x[0-9a-f]{64}$/);

export const Health = z
  .object({
    status: z.literal('ok'),
    chains: z.array(z.string()),
    mode: z.enum(['production', 'sandbox']),
    version: z.string(),
    commit: z.string(),
  })
  .meta({ id: 'Health' });

const ChainReady = z.object({ ready: z.boolean(), reasons: z.array(z.string()), block: z.int().nullable() });
export const Ready = z
  .object({ ready: z.boolean(), database: z.object({ ready: z.boolean() }), chains: z.record(z.string(), ChainReady) })
  .meta({ id: 'Ready' });

export const ChainInfo = z
  .object({
    chain: z.string(),
    chainId: z.int(),
    diamond: Address,
    relayer: Address.nullable(),
    relayers: z.array(Address),
    agentNameTag: z.string().nullable(),
    testnet: z.boolean(),
    serverTime: EpochMs,
    signing: z.object({
      domain: z.object({ name: z.string(), version: z.string(), chainId: z.int(), verifyingContract: Address }),
      fields: z.array(z.object({ name: z.string(), type: z.string() })),
      emptyBodyHash: Hash,
    }),
  })
  .meta({ id: 'ChainInfo' });
