import { z } from 'zod';
import { READINESS_CHECKS } from '../../core/access/trader-readiness.js';
import { AgentRecord, AnyAddress, MasterTransaction } from './agents.js';

const Line = z.object({
  check: z.enum(READINESS_CHECKS),
  ok: z.boolean(),
  detail: z.string(),
  fix: z.object({ step: z.string(), transaction: MasterTransaction.nullable() }).nullable(),
});

export const TraderReadiness = z
  .object({
    address: AnyAddress,
    trader: AnyAddress,
    ready: z.object({ native: z.boolean(), facade: z.boolean() }),
    delegate: AnyAddress.nullable().meta({ description: 'The trading delegate on chain: the one address that trades for the trader.' }),
    agents: z.array(AgentRecord).meta({ description: 'Agents that are neither revoked nor expired, as `getAgent` shows them.' }),
    lines: z.array(Line),
  })
  .meta({ id: 'TraderReadiness' });

export const ReadinessPath = z.object({ address: AnyAddress });

/** At most 30 digits before the point and 18 after it: no token needs more, and every amount fits the contract. */
export const ReadinessQuery = z.strictObject({
  allowance: z
    .string()
    .regex(/^(?:unlimited|(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,18})?)$/, 'must be an amount such as 250.5, or unlimited')
    .optional(),
});
