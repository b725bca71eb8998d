import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { AlertFacts, AlertName, AlertStore } from '../../ports/stores/alerts.js';

export interface AlertRequest extends Omit<AlertFacts, 'expiresAt'> {
  readonly expiresAt?: number | null;
  /** Sent repeatedly while it is open. */
  readonly repeats?: boolean;
}

/** Reports faults to the operator. Never throws to the reporter: a failing alert must not fail an order. */
export interface Alerts {
  raiseAlert(alert: AlertRequest): Promise<void>;
  recoverAlert(name: AlertName, message: string): Promise<void>;
}

export interface AlertsOptions {
  readonly store: AlertStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether alerts are sent to a webhook. */
  readonly isSent: boolean;
}

export const REPEAT_MS = 3_600_000;

export function createAlerts({ store, clock, log, isSent }: AlertsOptions): Alerts {
  const guard = async (name: AlertName, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log.error('alerts.not-stored', { kind: name.kind, chain: name.chain, subject: name.subject, error });
    }
  };
  return {
    raiseAlert: ({ repeats = false, expiresAt = null, ...alert }) =>
      guard(alert, () => store.raise({ ...alert, expiresAt }, { at: clock.now(), isSent, repeatMs: repeats ? REPEAT_MS : null })),
    recoverAlert: (name, message) => guard(name, () => store.recover(name, { at: clock.now(), isSent, message })),
  };
}
