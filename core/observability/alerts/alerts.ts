import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { AlertDelivery, AlertFacts, AlertName, AlertStore } from '../../ports/stores/alerts.js';
import type { Cancel } from '../../types.js';

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

/** Sends a message; throws when the receiver did not accept it. The error contains neither the receiver's URL nor its secret. */
export type PostAlert = (message: Pick<AlertDelivery, 'eventId' | 'body'> & { readonly at: number }) => Promise<void>;

interface AlertSenderOptions {
  readonly store: AlertStore;
  readonly post: PostAlert;
  readonly clock: Clock;
  readonly log: Logger;
}

const PACE_MS = 1_000;
/** Longer than any attempt; after that other replicas take over the deliveries of a crashed one. */
const CLAIM_MS = 30_000;
const AT_ONCE = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 600_000;
/** About an hour of attempts. */
export const MOST_ATTEMPTS = 15;

export const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS);

/** Sends everything that is due, once. */
export async function deliverDue({ store, post, clock, log }: AlertSenderOptions): Promise<void> {
  const due = await store.claim(clock.now(), clock.now() + CLAIM_MS, AT_ONCE);
  await Promise.all(
    due.map(async (delivery) => {
      const { id, eventId, body, attempts } = delivery;
      try {
        await post({ eventId, body, at: clock.now() });
      } catch (error) {
        const why = error instanceof Error ? error.message : 'the receiver did not take it';
        const isLast = attempts >= MOST_ATTEMPTS;
        log.warn('alerts.not-delivered', { delivery: id, attempts, isLast, why });
        return store.failed(id, why.slice(0, 200), isLast ? null : clock.now() + waitAfter(attempts));
      }
      // After a crash before this write it is sent again; the receiver deduplicates by id.
      await store.delivered(id, clock.now());
    }),
  );
}

/** Runs on every replica; claims in the database distribute the work. */
export function deliverAlerts(options: AlertSenderOptions): Cancel {
  let isBusy = false;
  const turn = (): void => {
    if (isBusy) return;
    isBusy = true;
    deliverDue(options)
      .catch((error: unknown) => options.log.warn('alerts.turn-failed', { error }))
      .finally(() => (isBusy = false));
  };
  return options.clock.every(PACE_MS, turn);
}
