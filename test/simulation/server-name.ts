import type { ServerIdentity } from '../../core/adapters/postgres/continuity/create-continuity.js';
import type { Scheduler } from './scheduler.js';

/** What the database server says of itself, in place of what the real one would: that one neither fails over nor goes back. */
export interface ServerName {
  readonly read: () => ServerIdentity;
  move(how: ServerMove): void;
}

/** What of it is another after a switchover or a loss; where nothing is, only what replicas remember shows that commits were lost. */
export const SERVER_MOVES = ['nothing', 'nothing', 'nothing', 'timeline', 'system', 'log'] as const;
export type ServerMove = (typeof SERVER_MOVES)[number];

/** Further than the log of any run grows. */
const LOG_STEP = 10_000_000n;

export function createServerName(scheduler: Pick<Scheduler, 'now'>): ServerName {
  let [system, timeline, log] = [1, 1, 100n * LOG_STEP];
  return {
    read: () => ({ system: String(system), timeline: String(timeline).padStart(8, '0'), log: log + BigInt(scheduler.now()) }),
    move(how) {
      if (how === 'timeline') timeline += 1;
      if (how === 'system') system += 1;
      if (how === 'log') log -= LOG_STEP;
    },
  };
}
