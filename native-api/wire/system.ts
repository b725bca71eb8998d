import { z } from 'zod';
import { ENDPOINT_STATES } from '../../core/ports/chain.js';
import { EpochMs } from './codec.js';

/** Wire schemas of the service's own status. */

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

const CatchUp = z.object({
  behind: z.int(),
  percent: z.number(),
  blocksPerSecond: z.number().nullable(),
  secondsLeft: z.int().nullable(),
});
const Endpoint = z.object({
  host: z.string(),
  state: z.enum(ENDPOINT_STATES),
  failures: z.int(),
  latencyMs: z.int().nullable(),
  head: z.int().nullable(),
  lastError: z.object({ at: EpochMs, text: z.string() }).nullable(),
});
const ChainReady = z.object({
  ready: z.boolean(),
  reasons: z.array(z.string()),
  /** Deviations that do not prevent serving. */
  notes: z.array(z.string()),
  relayer: z.object({ ready: z.boolean(), reasons: z.array(z.string()) }).nullable(),
  block: z.int().nullable(),
  headAgeMs: z.int().nonnegative().nullable().meta({ description: 'Since the newest block was first seen.' }),
  priceAgeMs: z.int().nonnegative().nullable().meta({ description: 'Since the last price of any market.' }),
  followed: z.object({ block: z.int().nullable(), behind: z.int().nullable(), catchUp: CatchUp.nullable() }),
  endpoints: z.array(Endpoint),
});
export type ChainReady = z.output<typeof ChainReady>;
export const Ready = z
  .object({
    ready: z.boolean(),
    stopping: z.boolean(),
    database: z.object({
      ready: z.boolean(),
      reasons: z.array(z.string()),
      notes: z.array(z.string()).meta({ description: 'Whether the database lost commits, and what waits for the operator.' }),
    }),
    chains: z.record(z.string(), ChainReady),
  })
  .meta({ id: 'Ready' });

const TypedFields = z.array(z.object({ name: z.string(), type: z.string() }));

const MasterForms = z.object({ key: TypedFields, contract: TypedFields, optional: z.array(z.string()) }).meta({
  id: 'MasterForms',
  description:
    'The fields of a message of the master wallet: `key` where the key of the trader signs, `contract` where the trader is a contract wallet. A field named in `optional` is signed only when the body has it.',
});

export const ChainInfo = z
  .object({
    chain: z.string(),
    chainId: z.int(),
    diamond: Address,
    relayer: Address.nullable(),
    relayers: z.array(Address),
    referrer: Address.nullable().meta({
      description: 'Whom openings that the relayer sends name as the referrer of a trader who has none; null = none.',
    }),
    nativeReferrer: Address.nullable().meta({ description: 'The same for orders of agents on `/v1` that name no `referrer`.' }),
    agentNameTag: z.string().nullable(),
    testnet: z.boolean(),
    serverTime: EpochMs,
    signing: z.object({
      domain: z.object({ name: z.string(), version: z.string(), chainId: z.int(), verifyingContract: Address }),
      fields: TypedFields,
      emptyBodyHash: Hash,
      masterTypes: z.record(z.string(), MasterForms),
    }),
  })
  .meta({ id: 'ChainInfo' });
