import type { Gateway } from '../gateway.js';
import { awaitsOperator, type CommitLoss } from '../ports/stores/continuity.js';
import { DAY_MS } from '../ports/stores/gas.js';
import { familyOf, type MetricFamily } from './metrics.js';

/** What the operator is shown of lost commits, and of wallets that the database does not know. */

const ADOPT = 'npx diamond-gateway relayer adopt';

export const adoptCommand = (chain: string, wallet: string): string => `${ADOPT} --chain ${chain} --wallet ${wallet}`;

const time = (at: number): string => new Date(at).toISOString();

/** What was lost, and what to do. */
export function describeLoss(loss: CommitLoss): string {
  const { detectedAt, lostFrom, reason, adoptedAt } = loss;
  const from = lostFrom === null ? 'of an unknown time' : `from ${time(lostFrom)} on`;
  const lost = `The database lost commits ${from}, noticed at ${time(detectedAt)}: ${reason}.`;
  if (awaitsOperator(loss))
    return `${lost} Agents of the facade that were approved before only close and cancel. Compare with the chain (docs/operations.md, lost commits), then run ${ADOPT}.`;
  return adoptedAt === null
    ? `${lost} The service went on by itself: find out why it happened (docs/operations.md, lost commits).`
    : `${lost} It was adopted at ${time(adoptedAt)}.`;
}

/** A short loss waits for no answer, and is shown for a day. */
export const isLossShown = (loss: CommitLoss, now: number): boolean =>
  awaitsOperator(loss) || (loss.adoptedAt === null && now < loss.detectedAt + DAY_MS);

/** Sentences for `/ready`; none of them makes the service unready. */
export function continuityNotes({ store: { continuity }, clock }: Pick<Gateway, 'store' | 'clock'>): string[] {
  const [doubt, loss] = [continuity.doubt(), continuity.lastLoss()];
  return [
    ...(doubt === null ? [] : [`nothing is signed now: ${doubt}`]),
    ...(loss !== null && isLossShown(loss, clock.now()) ? [describeLoss(loss)] : []),
    ...continuity.notes(),
  ];
}

/** From memory: they matter while the database does not answer. */
export function continuityFamilies({ store: { continuity } }: Pick<Gateway, 'store'>): MetricFamily[] {
  const loss = continuity.lastLoss();
  return [
    familyOf('signingWaits', [{ value: continuity.doubt() === null ? 0 : 1, labels: {} }]),
    familyOf('lossWaits', [{ value: loss !== null && awaitsOperator(loss) ? 1 : 0, labels: {} }]),
    familyOf('lastLoss', loss === null ? [] : [{ value: loss.detectedAt / 1_000, labels: {} }]),
  ];
}
