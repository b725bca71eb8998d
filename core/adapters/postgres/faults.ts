import { GatewayError, StartError } from '../../errors.js';

/** Transient SQLSTATEs: connection lost, shutdown, out of resources, a timeout, read-only. */
const TRANSIENT_STATES = /^(?:08...|53...|57P0.|57014|55P03|58...|25006|25P0[34])$/;
/** Errors that last until the operator changes something: a password, a certificate, the database itself. */
const NEEDS_OPERATOR = /^(?:28...|3D000|ERR_TLS_.*|ERR_SSL_.*|CERT_.*|SELF_SIGNED_.*|DEPTH_ZERO_.*|UNABLE_TO_.*|HOSTNAME_MISMATCH)$/;
/** The same as reported by PgBouncer, under a code that otherwise means a protocol error. */
const BOUNCER_REFUSAL = /authentication failed|no such (?:user|database)|database ".*" does not exist/;
const NO_TLS = 'does not support SSL connections';
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNABORTED',
  'EADDRNOTAVAIL',
  'EHOSTDOWN',
  'ENETDOWN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** The driver has no code for these. */
const DRIVER_MESSAGES =
  /Connection terminated|timeout expired|Query read timeout|(?:connection error|was closed) and is not queryable|Timeout acquiring|^aborted$|establishing an SSL connection/;
/** The transaction lost against a concurrent one and was rolled back. */
const LOST_RACES = new Set(['40001', '40P01']);

const codeOf = (error: unknown): string | null =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : null;
const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string' ? error.message : '';

/** Whether the operator has to act; waiting does not help. */
export const isShutOut = (error: unknown): boolean =>
  NEEDS_OPERATOR.test(codeOf(error) ?? '') || isBouncerRefusal(error) || messageOf(error).includes(NO_TLS);

const isBouncerRefusal = (error: unknown): boolean => codeOf(error) === '08P01' && BOUNCER_REFUSAL.test(messageOf(error));

/** Whether the server's certificate is the cause. */
export const isDistrusted = (error: unknown): boolean => isShutOut(error) && !/^(?:28...|3D000|08P01)$/.test(codeOf(error) ?? '');

/** Whether the database failed, and not the query. A host with several addresses fails with one error for each. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null && (NETWORK_CODES.has(code) || TRANSIENT_STATES.test(code))) return true;
  if (isShutOut(error)) return true;
  if (typeof error === 'object' && error !== null && 'errors' in error && Array.isArray(error.errors))
    return error.errors.some(isUnavailable);
  return DRIVER_MESSAGES.test(messageOf(error));
}

export const isLostRace = (error: unknown): boolean => LOST_RACES.has(codeOf(error) ?? '');

const TRIES = 5;

/** Which limit it was: the first three are also reached by a busy machine, where a server that is away is not the cause. */
function limitOf(error: unknown): string {
  if (messageOf(error).includes('Timeout acquiring')) return 'no connection to the database was free in time';
  if (codeOf(error) === '57014') return 'the database took too long for a statement';
  if (codeOf(error) === '55P03') return 'a row of the database was locked for too long';
  return 'the database does not answer';
}

/** For one statement or one transaction: after a conflict it was rolled back completely, so it can be repeated. */
export async function tryAgain<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLostRace(error) || tries === TRIES) throw error;
    }
  }
}

/** Outages and lost races become NOT_READY: the client may repeat. Other errors are bugs and become INTERNAL in the front end. */
export function asFault(error: unknown): unknown {
  if (error instanceof GatewayError) return error;
  if (isUnavailable(error)) return new GatewayError('NOT_READY', { reason: limitOf(error) }, { cause: error });
  return isLostRace(error) ? new GatewayError('NOT_READY', { reason: 'the database is busy' }, { cause: error }) : error;
}

type Methods = Readonly<Record<string, (...rest: never[]) => Promise<unknown>>>;

/** Wraps every store method once at composition, so that no query has to map errors itself. */
export function withFaults<Given extends Methods>(methods: Given): Given {
  const wrapped = Object.entries(methods).map(([name, method]) => [
    name,
    async (...rest: never[]): Promise<unknown> => {
      try {
        return await method(...rest);
      } catch (error) {
        throw asFault(error);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as Given;
}

export const STORE_START_PROBLEMS = [
  'unsupported',
  'package-missing',
  'folder-unusable',
  'folder-in-use',
  'folder-damaged',
  'server-failed',
  'unreachable',
  'migration-failed',
  'not-migrated',
  'interrupted',
] as const;
type StoreStartProblem = (typeof STORE_START_PROBLEMS)[number];

/** Why the database cannot be used. */
export class StoreStartError extends StartError {
  override readonly name = 'StoreStartError';
  readonly problem: StoreStartProblem;

  constructor(problem: StoreStartProblem, sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.problem = problem;
  }
}
