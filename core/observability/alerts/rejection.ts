import type { Metrics } from '../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Alerts } from './alerts.js';

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
