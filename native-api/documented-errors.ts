import type { ErrorCode } from '../core/errors.js';
import type { Auth, Operation } from './operation.js';

const ALWAYS: readonly ErrorCode[] = ['VALIDATION_ERROR', 'RATE_LIMITED', 'INTERNAL', 'NOT_READY'];
const SIGNED: readonly ErrorCode[] = ['INVALID_SIGNATURE', 'TIMESTAMP_OUT_OF_WINDOW', 'NONCE_REUSED'];
const OF_AGENTS: readonly ErrorCode[] = [
  'UNAUTHENTICATED',
  ...SIGNED,
  'AGENT_UNKNOWN',
  'AGENT_NOT_DELEGATED',
  'AGENT_EXPIRED',
  'AGENT_REVOKED',
];

const BY_AUTH: Readonly<Record<Auth, readonly ErrorCode[]>> = {
  none: [],
  master: SIGNED,
  agent: [...OF_AGENTS, 'SCOPE_READ_ONLY'],
  reader: [...OF_AGENTS, 'API_KEY_UNKNOWN'],
  optional: OF_AGENTS,
};

export const pathParameters = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');

/** Whether the account in the path must be the caller's: derived from the row, so that no handler can forget the check. */
export const isOwnAccount = ({ auth, path }: Operation): boolean =>
  (auth === 'agent' || auth === 'reader') && pathParameters(path).includes('address');

/** All error codes of a row: those that follow from its scope, auth and path, and its own. */
export function errorsOf(operation: Operation): ErrorCode[] {
  const codes: ErrorCode[] = [...ALWAYS, ...BY_AUTH[operation.auth], ...(operation.errors ?? [])];
  if (operation.scope === 'venue') codes.push('CHAIN_NOT_FOUND', 'UPSTREAM_UNAVAILABLE');
  if (isOwnAccount(operation)) codes.push('TRADER_MISMATCH');
  if (pathParameters(operation.path).includes('symbol')) codes.push('MARKET_NOT_FOUND');
  return [...new Set(codes)];
}
