import { NEXT } from '../../core/domain/order-machine.js';
import { RELAY_STATES } from '../../core/ports/stores/relay.js';
import { FAULT_KINDS } from './faults/fault-table.js';
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

export async function jobTransitions({ gate }: World): Promise<string[]> {
  const rows = await gate.read<{ before: string | null; after: string }>(
    `select before, after from seen_transitions where subject = 'job'`,
  );
  return rows.map(({ before, after }) => `job ${before ?? 'none'} ${after}`);
}

/** Everything that a campaign should reach: the rows of the order machine, the states of jobs, and every fault in every state of a lane. */
export function expectedRows(): string[] {
  const orders = Object.entries(NEXT).flatMap(([status, row]) => Object.keys(row).map((event) => `order ${status} ${event}`));
  const open = RELAY_STATES.filter((state) => !['mined', 'reverted', 'refused', 'replaced'].includes(state));
  const faults = FAULT_KINDS.flatMap((kind) => ['empty', ...open, 'blocked'].map((state) => `${kind} in ${state}`));
  return [...orders, ...faults];
}
