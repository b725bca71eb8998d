import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { Cancel } from '../../types.js';
import type { AlertDelivery, AlertStore } from '../../ports/stores/alerts.js';

/** Sends a message; throws when the receiver did not accept it. The error contains neither the receiver's URL nor its secret. */
export type PostAlert = (message: Pick<AlertDelivery, 'eventId' | 'body'> & { readonly at: number }) => Promise<void>;

export interface AlertSenderOptions {
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
