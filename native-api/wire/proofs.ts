import { z } from 'zod';
import type { Hex } from '../../core/types.js';
import { RELAY_PURPOSES, RELAY_STATES } from '../../core/ports/stores/relay.js';
import { EpochMs } from './schema.js';
import { Id, TxHash } from './account.js';
import { AnyAddress } from './agents.js';

export const ProofPath = z.object({
  address: AnyAddress,
  txHash: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, 'must be a transaction hash')
    .transform((text) => text.toLowerCase() as Hex),
});

export const RelayProof = z
  .object({
    txHash: TxHash,
    trader: AnyAddress,
    signer: AnyAddress,
    envelope: z.string(),
    actionHash: TxHash,
    form: z.enum(['canonical', 'as-sent']),
    network: z.enum(['a', 'b']),
    nonce: z.string(),
    receivedAt: EpochMs,
    purpose: z.enum(RELAY_PURPOSES),
    relayer: AnyAddress,
    to: AnyAddress,
    data: TxHash,
    rawTransaction: TxHash,
    state: z.enum(RELAY_STATES),
    orderId: Id.nullable(),
    multiplier: z.int().positive(),
    blockNumber: z.int().nullable(),
    context: z.string(),
  })
  .meta({ id: 'RelayProof' });
