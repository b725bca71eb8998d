import type { ChainDefinition, ChainSlug } from '../../chains/chains.js';
import type { Gateway, Venue } from '../../gateway.js';
import type { Address } from '../../types.js';
import type { Alerts } from './alerts.js';
import { GuardrailError } from '../../config/rules.js';

export interface UsedQuota {
  readonly bound: number;
  readonly used: number;
  readonly freesAt: number;
}

/** Reports an opening that was rejected by the daily quota when it was to be stored. */
export async function raiseQuotaAlert({ alerts }: Gateway, { definition }: Venue, trader: Address, error: unknown): Promise<void> {
  if (error instanceof GuardrailError && error.refusal.rule === 'daily-transactions')
    await alertQuota(alerts, definition, trader, error.refusal);
}

/** Once a day per trader: at the end of the quota either the quota is too small, or the bot misbehaves. */
export async function alertQuota(
  alerts: Alerts,
  definition: ChainDefinition & { readonly slug: ChainSlug },
  trader: Address,
  { bound, used, freesAt }: UsedQuota,
): Promise<void> {
  await alerts.raiseAlert({
    kind: 'quota-reached',
    chain: definition.slug,
    subject: trader,
    message: `${trader} has used ${used} of ${bound} transactions of today on ${definition.name}: what this quota is for (docs/rules.md) is not sent for it until the day ends.`,
    details: { trader, used, quota: bound },
    expiresAt: freesAt,
  });
}
