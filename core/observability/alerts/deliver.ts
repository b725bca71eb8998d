import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { Cancel } from '../../types.js';
import type { AlertDelivery, AlertStore } from '../../ports/stores/alerts.js';

/** Hands a message over; throws when the receiver did not take it. Its message holds nothing of the receiver's address or secret. */
export type PostAlert = (message: Pick<AlertDelivery, 'eventId' | 'body'> & { readonly at: number }) => Promise<void>;

export interface AlertSenderOptions {
  readonly store: AlertStore;
  readonly post: PostAlert;
  readonly clock: Clock;
  readonly log: Logger;
}

const PACE_MS = 1_000;
/** Longer than any attempt takes; who dies in the middle of one leaves it to the others after that. */
const CLAIM_MS = 30_000;
const AT_ONCE = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 600_000;
/** About an hour of trying. */
export const MOST_ATTEMPTS = 15;

export const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS);

/** One turn: everything that is due, once. */
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
      // Killed before this is written, it is sent again: the receiver knows it by its id.
      await store.delivered(id, clock.now());
    }),
  );
}

/** Runs on every replica; the rows say whose turn it is. */
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
