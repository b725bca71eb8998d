import { AsyncLocalStorage } from 'node:async_hooks';
import { GatewayError } from '../../../errors.js';

/** Of a write that passed the check for lost commits: whether a suspicion came up since. */
const suspectedSince = new AsyncLocalStorage<() => boolean>();

/**
 * Runs a write for which nothing was suspected when it began. Its connection may be the first to reach the other server, so the check is
 * repeated when it has one.
 */
export function runGuarded<Result>(suspicions: () => number, work: () => Promise<Result>): Promise<Result> {
  const before = suspicions();
  return suspectedSince.run(() => suspicions() !== before, work);
}

/** Throws for a write that must be checked again. */
export function requireUnsuspected(): void {
  if (suspectedSince.getStore()?.() === true)
    throw new GatewayError('NOT_READY', { reason: 'it is being checked whether the database lost commits' });
}
