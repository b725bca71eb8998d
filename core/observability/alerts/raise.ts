import { formatEther } from 'viem/utils';
import type { ChainDefinition, ChainSlug } from '../../chains/chains.js';
import type { Gateway, Venue } from '../../gateway.js';
import type { Address } from '../../types.js';
import type { Alerts } from './alerts.js';
import { GuardrailError } from '../../domain/relay/guardrails.js';
import { DAY_MS } from '../../ports/stores/gas.js';
import type { RelayJob, RelayStore } from '../../ports/stores/relay.js';
import type { Metrics } from '../metrics.js';
import type { Clock } from '../../ports/clock.js';

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

type Named = ChainDefinition & { readonly slug: ChainSlug };

const nameOf = ({ slug }: Named, wallet: Address) => ({ kind: 'budget-reached', chain: slug, subject: wallet }) as const;

export async function alertBudget(
  alerts: Alerts,
  chain: Named,
  used: { readonly wallet: Address; readonly spentWei: bigint; readonly budgetWei: bigint; readonly freesAt: number },
): Promise<void> {
  const { wallet, spentWei, budgetWei, freesAt } = used;
  const figures = `${formatEther(spentWei)} of ${formatEther(budgetWei)} ${chain.nativeSymbol}`;
  await alerts.raiseAlert({
    ...nameOf(chain, wallet),
    message: `The relayer wallet ${wallet} on ${chain.name} has spent ${figures} today: only cancels and closes are sent until the day ends or the wallet is topped up.`,
    details: { spentWei: spentWei.toString(), budgetWei: budgetWei.toString() },
    expiresAt: freesAt,
  });
}

export const recoverBudget = (alerts: Alerts, chain: Named, wallet: Address): Promise<void> =>
  alerts.recoverAlert(nameOf(chain, wallet), `The relayer wallet ${wallet} on ${chain.name} is within its budget again.`);

/** The gateway stores no job that its signed action does not explain, so something else wrote to the database, or there is a fault. */
export const alertForgedJob = (
  alerts: Alerts,
  { slug, name }: Named,
  { id, wallet, trader }: Pick<RelayJob, 'id' | 'wallet' | 'trader'>,
  { note, at }: { readonly note: string; readonly at: number },
): Promise<void> =>
  alerts.raiseAlert({
    kind: 'forged-job',
    chain: slug,
    subject: wallet,
    message: `The relayer wallet ${wallet} on ${name} did not sign job ${id}: ${note}. Find out what else writes to the database (docs/security.md).`,
    details: { job: id.toString(), trader, note },
    expiresAt: at + DAY_MS,
  });

/** Commits were lost, a backup was put back, or the key is used elsewhere. */
export const alertForeign = (
  alerts: Alerts,
  { slug, name }: Named,
  wallet: Address,
  { transactions, at }: { readonly transactions: number; readonly at: number },
): Promise<void> =>
  alerts.raiseAlert({
    kind: 'foreign-transactions',
    chain: slug,
    subject: wallet,
    message: `The relayer wallet ${wallet} on ${name} sent ${transactions} transactions that the database does not know. Openings that waited were refused; closes and cancels wait until they were compared with the chain. Was a backup put back, or is the key used elsewhere (docs/operations.md)?`,
    details: { transactions },
    expiresAt: at + DAY_MS,
  });

const SHOWN_NONCES = 100;

/** Spent nonces of which neither the index nor a node had the transaction. */
export const alertUnexplained = (
  alerts: Alerts,
  { slug, name }: Named,
  wallet: Address,
  { nonces, at }: { readonly nonces: readonly number[]; readonly at: number },
): Promise<void> =>
  alerts.raiseAlert({
    kind: 'unexplained-nonces',
    chain: slug,
    subject: wallet,
    message: `After lost commits ${nonces.length} transactions of the relayer wallet ${wallet} on ${name} were not found, the first with nonce ${nonces[0]}. They are spent and not repeated, but their orders may be on chain and their gas is not in the ledger: look them up in a block explorer (docs/operations.md, lost commits).`,
    details: { nonces: nonces.slice(0, SHOWN_NONCES), count: nonces.length },
    expiresAt: at + 7 * DAY_MS,
  });

/** Wraps the store: raises an alert when a lane is blocked because its key cannot be used, and recovers it afterwards. */
export const alertKeys = (store: RelayStore, alerts: Alerts): RelayStore => ({
  ...store,
  // Before the write: a failed write is repeated by the caller, and the alert with it.
  async storeLaneProblem(chain, wallet, problem) {
    const name = { kind: 'key-trouble', chain, subject: wallet } as const;
    if (problem?.cause !== 'key') await alerts.recoverAlert(name, `The wallet ${wallet} signs again.`);
    else
      await alerts.raiseAlert({
        ...name,
        message: `The wallet ${wallet} cannot sign: ${problem.reason}.`,
        details: { reason: problem.reason },
      });
    await store.storeLaneProblem(chain, wallet, problem);
  },
});

/** Clients may be able to cause rejections, so the alert is stored at most this often. */
const RAISE_EVERY_MS = 60_000;
/** The alert ends when no rejection followed for this long. */
const LASTS_MS = 3_600_000;

interface RejectionReport {
  readonly metrics: Pick<Metrics, 'rejection'>;
  readonly alerts: Alerts;
  readonly clock: Clock;
}

/** Counts every unhandled rejection, and keeps one alert open while they occur. */
export function reportRejections({ metrics, alerts, clock }: RejectionReport): (reason: unknown) => void {
  let raisedAt: number | null = null;
  return (reason) => {
    metrics.rejection();
    const now = clock.now();
    if (raisedAt !== null && now >= raisedAt && now - raisedAt < RAISE_EVERY_MS) return;
    raisedAt = now;
    void alerts.raiseAlert({
      kind: 'unhandled-rejection',
      chain: 'all',
      subject: 'process',
      message: 'A task of the service failed without a handler; the log has its trace (process.unhandled-rejection).',
      // An error's message may quote client input, its name does not.
      details: { name: reason instanceof Error ? reason.name : typeof reason },
      expiresAt: now + LASTS_MS,
    });
  };
}
