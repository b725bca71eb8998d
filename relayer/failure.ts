import { GatewayError } from '../core/errors.js';
import { NoNodeError } from '../core/ports/no-node-error.js';

/** The hosts that failed, in brackets; empty if they are not known. */
export const hostsIn = (error: unknown): string =>
  error instanceof NoNodeError && error.hosts.length > 0 ? ` (${error.hosts.join(', ')})` : '';

/** Why a lane failed, as a clause that traders read. */
export const failureOf = (error: unknown): string =>
  error instanceof GatewayError && error.code === 'NOT_READY'
    ? 'its database does not answer'
    : `its node does not answer${hostsIn(error)}`;
