import { NEXT } from '../../core/domain/order-machine.js';
import type { RelayState } from '../../core/ports/stores/relay.js';
import { FAULT_KINDS, LANE_STATES } from './faults/fault-table.js';
import type { World } from './world.js';

/** Which rows of the order machine ran: its table is replaced by one that notes what is looked up. */
export function watchOrderMachine(): { seen(): string[]; stop(): void } {
  const before = { ...NEXT };
  const found: string[] = [];
  const watched = Object.fromEntries(
    Object.entries(NEXT).map(([status, row]) => [
      status,
      new Proxy(row, {
        get(target, event: string) {
          const next = (target as Record<string, string | undefined>)[event];
          if (next !== undefined) found.push(`order ${status} ${event}`);
          return next;
        },
      }),
    ]),
  );
  Object.assign(NEXT, watched);
  return {
    seen: () => found,
    stop: () => void Object.assign(NEXT, before),
  };
}

/** Which states a job may get from which: the relayer's table, derived from its statements. `none` is a job that is made. */
export const JOB_TRANSITIONS = {
  // After lost commits, jobs that were sent are found on chain, and a nonce that another transaction has is taken from its job.
  none: ['queued', 'assigned', 'accepted'],
  queued: ['assigned', 'accepted', 'refused'],
  assigned: ['signed', 'accepted', 'queued'],
  signed: ['unknown', 'accepted', 'mined', 'reverted', 'replaced', 'refused'],
  unknown: ['accepted', 'mined', 'reverted', 'replaced', 'refused'],
  accepted: ['unknown', 'mined', 'reverted', 'replaced', 'refused'],
  mined: ['unknown', 'reverted', 'replaced'],
  reverted: ['unknown', 'mined', 'replaced'],
  replaced: ['unknown', 'mined', 'reverted'],
  refused: ['unknown', 'mined', 'reverted', 'replaced'],
} as const satisfies Readonly<Record<RelayState | 'none', readonly RelayState[]>>;

export async function jobTransitions({ gate }: World): Promise<string[]> {
  const rows = await gate.read<{ before: string | null; after: string }>(
    `select before, after from seen_transitions where subject = 'job'`,
  );
  return rows.map(({ before, after }) => `job ${before ?? 'none'} ${after}`);
}

/** Rows that no run can reach, each with its reason. `docs/simulation.md` has the same table. */
export const UNREACHABLE: Readonly<Record<string, string>> = {};

const ENOUGH = 10;

const rowsOf = (subject: string, table: Readonly<Record<string, readonly string[]>>): string[] =>
  Object.entries(table).flatMap(([before, row]) => row.map((after) => `${subject} ${before} ${after}`));

/** How often each row of both transition tables was reached, and each fault in each state of a lane; then what was reached too seldom. */
export function describeCoverage(reached: ReadonlyMap<string, number>): string[] {
  const times = (row: string): number => reached.get(row) ?? 0;
  const orders = rowsOf('order', Object.fromEntries(Object.entries(NEXT).map(([status, row]) => [status, Object.keys(row)])));
  const jobs = rowsOf('job', JOB_TRANSITIONS);
  const faults = rowsOf('fault', Object.fromEntries(FAULT_KINDS.map((kind) => [kind, LANE_STATES])));
  const rows = [...orders, ...jobs, ...faults];
  const seldom = rows.filter((row) => times(row) < ENOUGH && UNREACHABLE[row] === undefined);
  return [
    ...[...orders, ...jobs].map((row) => `  ${row.padEnd(32)} ${times(row)}`),
    `  ${'fault in a lane that is'.padEnd(32)} ${LANE_STATES.map((state) => state.padStart(9)).join('')}`,
    ...FAULT_KINDS.map(
      (kind) => `  ${kind.padEnd(32)} ${LANE_STATES.map((state) => String(times(`fault ${kind} ${state}`)).padStart(9)).join('')}`,
    ),
    ...Object.entries(UNREACHABLE).map(
      ([row, reason]) =>
        `  ${row.padEnd(32)} ${times(row) === 0 ? `cannot be reached: ${reason}` : `WAS REACHED, but is listed as unreachable: ${reason}`}`,
    ),
    `${rows.length - seldom.length} of ${rows.length} rows were reached ${ENOUGH} times or more, or cannot be reached`,
    ...seldom.map((row) => `  seldom: ${row.padEnd(40)} ${times(row)}`),
  ];
}
