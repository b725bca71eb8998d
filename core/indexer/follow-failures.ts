import type { Gateway, Venue } from '../gateway.js';
import { redactText } from '../observability/redact.js';
import { ChainMovedError } from '../ports/chain.js';
import { CursorMovedError } from './chain-steps.js';

/** Rounds that fail for this long are reported; the alert ends by itself when this replica is gone. */
const ALERT_AFTER_MS = 30_000;
const ALERT_EVERY_MS = 60_000;
const ALERT_LASTS_MS = 5 * ALERT_EVERY_MS;
/** Contradictory answers at one block that a moving chain explains; more are a node that lacks something, such as old receipts. */
const MOVED_AT_MOST = 20;

export interface FollowFailures {
  /** A round begins behind this block. */
  begin(block: bigint): void;
  failed(error: unknown): void;
  recovered(): void;
}

/** Keeps `followed.fault` and `followed.failing`, and raises the alert. */
export function createFollowFailures(gateway: Pick<Gateway, 'alerts'>, { clock, log, state, definition: { slug } }: Venue): FollowFailures {
  const alert = { kind: 'index-jammed', chain: slug, subject: 'follower' } as const;
  const { followed } = state;
  let alertedAt: number | null = null;
  let standsAt: bigint | null = null;
  let moved = 0;

  function raiseWhenLasting({ since, fault }: NonNullable<typeof followed.failing>): void {
    const now = clock.now();
    if (now - since < ALERT_AFTER_MS || (alertedAt !== null && now - alertedAt < ALERT_EVERY_MS)) return;
    alertedAt = now;
    void gateway.alerts.raiseAlert({
      ...alert,
      message: `The events of ${slug} are not stored: ${fault}.`,
      details: { fault, since, block: followed.block?.toString() ?? null },
      expiresAt: now + ALERT_LASTS_MS,
    });
  }

  return {
    begin(block) {
      if (standsAt !== block) moved = 0;
      standsAt = block;
    },
    failed(error) {
      if (error instanceof CursorMovedError) return;
      if (error instanceof ChainMovedError && (moved += 1) <= MOVED_AT_MOST) return;
      const fault = redactText(error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
      if (followed.fault !== fault) log.warn('chain.follow-failed', { fault });
      followed.fault = fault;
      followed.failing = { since: followed.failing?.since ?? clock.now(), fault };
      raiseWhenLasting(followed.failing);
    },
    recovered() {
      moved = 0;
      followed.failing = null;
      if (alertedAt !== null) void gateway.alerts.recoverAlert(alert, `The events of ${slug} are stored again.`);
      alertedAt = null;
    },
  };
}
