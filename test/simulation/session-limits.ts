/** Time limits of a session. The server would measure them with the real time, so it gets none, and the gate keeps them. */
export interface SessionLimits {
  readonly lockMs: number;
  readonly statementMs: number;
  readonly idleTransactionMs: number;
  readonly idleSessionMs: number;
  /** They hold for one transaction. */
  readonly isLocal: boolean;
}

const NAMES = {
  lock_timeout: 'lockMs',
  statement_timeout: 'statementMs',
  idle_in_transaction_session_timeout: 'idleTransactionMs',
  idle_session_timeout: 'idleSessionMs',
} as const satisfies Record<string, keyof SessionLimits>;

const CONFIGURED =
  /set_config\('(lock_timeout|statement_timeout|idle_in_transaction_session_timeout|idle_session_timeout)', '(\d+)', (true|false)\)/g;
const SET = /^\s*set (idle_session_timeout) = (\d+)/i;

/** The text for the server: without limits, and with the simulation's clock. */
export const rewriteTimes = (text: string): string =>
  text
    .replace(CONFIGURED, (_all, name: string, _ms, isLocal: string) => `set_config('${name}', '0', ${isLocal})`)
    .replace(SET, 'set $1 = 0')
    .replaceAll('clock_timestamp()', 'simulated_now()');

/** What a statement changes of the limits; null: nothing. */
export function readLimits(text: string): Partial<SessionLimits> | null {
  const configured = [...text.matchAll(CONFIGURED)].map(([, name, ms, isLocal]) => ({
    [NAMES[name as keyof typeof NAMES]]: Number(ms),
    ...(isLocal === 'true' && { isLocal: true }),
  }));
  const set = SET.exec(text);
  const changes: Partial<SessionLimits>[] = [...configured, ...(set === null ? [] : [{ idleSessionMs: Number(set[2]) }])];
  return changes.length === 0 ? null : (Object.assign({}, ...changes) as Partial<SessionLimits>);
}
