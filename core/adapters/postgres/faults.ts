import { GatewayError } from '../../errors.js';

/** SQLSTATE classes and codes that say "not now": connection lost, shutting down, out of resources, ended by a limit, no writes for now. */
const TRANSIENT_STATES = /^(?:08...|53...|57P0.|57014|55P03|58...|25006|25P0[34])$/;
/** The way to the database is shut until somebody changes something: a password, a certificate, the database itself. */
const SHUT_OUT = /^(?:28...|3D000|ERR_TLS_.*|ERR_SSL_.*|CERT_.*|SELF_SIGNED_.*|DEPTH_ZERO_.*|UNABLE_TO_.*|HOSTNAME_MISMATCH)$/;
/** How PgBouncer says so, under a code that means a broken line elsewhere. */
const TURNED_AWAY = /authentication failed|no such (?:user|database)|database ".*" does not exist/;
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
const DRIVER_WORDS =
  /Connection terminated|timeout expired|Query read timeout|(?:connection error|was closed) and is not queryable|Timeout acquiring|^aborted$|establishing an SSL connection/;
/** The transaction lost against another one and was undone as a whole. */
const LOST_RACES = new Set(['40001', '40P01']);

const codeOf = (error: unknown): string | null =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : null;
const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string' ? error.message : '';

/** Whether we are kept out until somebody does something about it; waiting does not help. */
export const isShutOut = (error: unknown): boolean =>
  SHUT_OUT.test(codeOf(error) ?? '') || isTurnedAway(error) || messageOf(error).includes(NO_TLS);

const isTurnedAway = (error: unknown): boolean => codeOf(error) === '08P01' && TURNED_AWAY.test(messageOf(error));

/** Whether the certificate is what keeps us out. */
export const isDistrusted = (error: unknown): boolean => isShutOut(error) && !/^(?:28...|3D000|08P01)$/.test(codeOf(error) ?? '');

/** Whether the database, and not the question, is what failed. A host with several addresses fails with one error for each. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null && (NETWORK_CODES.has(code) || TRANSIENT_STATES.test(code))) return true;
  if (isShutOut(error)) return true;
  if (typeof error === 'object' && error !== null && 'errors' in error && Array.isArray(error.errors))
    return error.errors.some(isUnavailable);
  return DRIVER_WORDS.test(messageOf(error));
}

export const isLostRace = (error: unknown): boolean => LOST_RACES.has(codeOf(error) ?? '');

const TRIES = 5;

/** For work that is one statement or one transaction: what lost against another one was undone as a whole. */
export async function tryAgain<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLostRace(error) || tries === TRIES) throw error;
    }
  }
}

/** What a caller can wait out becomes NOT_READY; a bug of ours stays what it is and becomes INTERNAL at the door. */
export const asFault = (error: unknown): unknown =>
  !(error instanceof GatewayError) && isUnavailable(error)
    ? new GatewayError('NOT_READY', { reason: 'the database does not answer' }, { cause: error })
    : error;

type Methods = Readonly<Record<string, (...rest: never[]) => Promise<unknown>>>;

/** Every way into the database goes through here once, where the store is put together: no query has to remember it. */
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
