import { GatewayError } from '../../errors.js';

/** SQLSTATE classes and codes that say "not now": connection lost, shutting down, out of resources, cancelled by a limit. */
const TRANSIENT_STATES = /^(?:08...|53...|57P0.|57014|55P03|58...)$/;
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** The driver has no code for these. */
const DRIVER_WORDS = /Connection terminated|timeout expired|Query read timeout|connection error and is not queryable|Timeout acquiring/;
/** The transaction lost against another one and was undone as a whole. */
const LOST_RACES = new Set(['40001', '40P01']);

const codeOf = (error: unknown): string | null =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : null;
const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string' ? error.message : '';

/** Whether the database, and not the question, is what failed. A host with several addresses fails with one error for each. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null && (NETWORK_CODES.has(code) || TRANSIENT_STATES.test(code))) return true;
  if (typeof error === 'object' && error !== null && 'errors' in error && Array.isArray(error.errors))
    return error.errors.some(isUnavailable);
  return DRIVER_WORDS.test(messageOf(error));
}

export const isLostRace = (error: unknown): boolean => LOST_RACES.has(codeOf(error) ?? '');

const TRIES = 5;

/** For work that is one statement: what lost against another one was undone as a whole. */
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
