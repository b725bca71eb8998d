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
  none: ['queued', 'numbered'],
  queued: ['numbered', 'refused'],
  numbered: ['signed'],
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

/** Rows that no campaign can reach, each with its reason. */
export const UNREACHABLE: Readonly<Record<string, string>> = {};

/** Everything that a campaign should reach: the rows of both transition tables, and every fault in every state of a lane. */
export function expectedRows(): string[] {
  const orders = Object.entries(NEXT).flatMap(([status, row]) => Object.keys(row).map((event) => `order ${status} ${event}`));
  const jobs = Object.entries(JOB_TRANSITIONS).flatMap(([before, row]) => row.map((after) => `job ${before} ${after}`));
  const faults = FAULT_KINDS.flatMap((kind) => LANE_STATES.map((state) => `${kind} in ${state}`));
  return [...orders, ...jobs, ...faults];
}
