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

export function readLimits(before: SessionLimits, texts: readonly string[]): SessionLimits {
  let limits = { ...before, isLocal: false };
  for (const text of texts) {
    for (const [, name, ms, isLocal] of text.matchAll(CONFIGURED))
      limits = { ...limits, [NAMES[name as keyof typeof NAMES]]: Number(ms), isLocal: limits.isLocal || isLocal === 'true' };
    const set = SET.exec(text);
    if (set !== null) limits = { ...limits, idleSessionMs: Number(set[2]) };
  }
  return limits;
}
