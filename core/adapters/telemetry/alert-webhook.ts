import { createHmac } from 'node:crypto';
import type { PostAlert } from '../../observability/alerts/alerts.js';
import { within, type Clock } from '../../ports/clock.js';

export interface WebhookOptions {
  readonly url: () => string;
  readonly secret: () => string;
  readonly clock: Clock;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;

/**
 * Posts to the operator's receiver. `X-Gateway-Signature` is HMAC-SHA256 over `<X-Gateway-Timestamp>.<body>`: it proves knowledge of the
 * secret, and lets the receiver detect replays.
 */
export const createAlertWebhook =
  ({ url, secret, clock, timeoutMs = TIMEOUT_MS }: WebhookOptions): PostAlert =>
  ({ eventId, body, at }) =>
    within(clock, timeoutMs, async (signal) => {
      const timestamp = String(at);
      const signature = createHmac('sha256', secret()).update(`${timestamp}.${body}`).digest('hex');
      const response = await fetch(url(), {
        method: 'POST',
        redirect: 'manual',
        signal,
        body,
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'X-Gateway-Event': eventId,
          'X-Gateway-Timestamp': timestamp,
          'X-Gateway-Signature': `sha256=${signature}`,
        },
      }).catch((error: unknown) => {
        // Messages of `fetch` quote the URL, which may contain a secret.
        throw new Error(signal.aborted ? `no answer within ${timeoutMs / 1000} s` : `cannot be reached${codeIn(error)}`);
      });
      await response.body?.cancel().catch(() => undefined);
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
    });

function codeIn(error: unknown): string {
  const cause: unknown = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : null;
  return typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : '';
}
