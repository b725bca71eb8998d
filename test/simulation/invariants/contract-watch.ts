import { venueOf, type Gateway } from '../../../core/gateway.js';
import { FACET_SELECTOR } from '../faults/contract-faults.js';
import type { StatementReading } from '../statement-reading.js';
import type { NodeFault } from '../venue.js';
import type { World } from '../world.js';
import { SLUG } from './evidence.js';

/** What replicas do while the contract changes, as it is seen from outside: their statements, and their calls of the node. */
export interface ContractWatch {
  /** Before each round trip of a replica to the database. */
  observe(owner: string, statements: readonly StatementReading[]): void;
  readonly reading: (next: NodeFault) => NodeFault;
  /** Signatures on an identification older than a change whose block the replica knew. */
  early(): readonly string[];
  /** Epoch ms between which a transaction was kept whose logs could not be read. */
  doubts(): readonly Span[];
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

interface Known {
  /** The newest change that the process knows, and when it learned of it. */
  cut: bigint | null;
  learnedAt: number;
  identifiedAt: number;
}

const LOOK_EVERY_MS = 250;
const UNREAD = 'select count(*)::integer as count from unread_transactions where settled_at is null';

export function watchContract(world: World): ContractWatch {
  const { scheduler, gate, replicas } = world;
  const processes = new WeakMap<Gateway, Known>();
  const early: string[] = [];
  const doubts: { from: number; to: number }[] = [];
  let current: { from: number; to: number } | null = null;
  const now = (): number => scheduler.epoch + scheduler.now();

  function knownOf(owner: string): Known | null {
    const gateway = [...replicas.values()].find((replica) => replica.name === owner && replica.isAlive())?.gateway() ?? null;
    if (gateway === null) return null;
    const known = processes.get(gateway) ?? { cut: null, learnedAt: -1, identifiedAt: -1 };
    processes.set(gateway, known);
    const cut = venueOf(gateway, SLUG).state.contract?.cut ?? null;
    if (cut !== known.cut) Object.assign(known, { cut, learnedAt: now(), identifiedAt: -1 });
    return known;
  }

  // Of an owner that ends with the run.
  const timers = scheduler.lane('clients', 'clients/contract');
  const look = async (): Promise<void> => {
    const [row] = await gate.readNow<{ count: number }>(UNREAD);
    if ((row?.count ?? 0) === 0) current = null;
    else if (current === null) doubts.push((current = { from: now(), to: now() }));
    else current.to = now();
    timers.schedule(LOOK_EVERY_MS, 'contract', look);
  };
  timers.schedule(LOOK_EVERY_MS, 'contract', look);

  return {
    observe(owner, statements) {
      const known = knownOf(owner);
      if (known === null || !statements.some(({ leadsTo }) => leadsTo === 'signed')) return;
      // What was signed at the same moment may have been signed before.
      if (known.cut !== null && known.identifiedAt < known.learnedAt && now() > known.learnedAt)
        early.push(
          `${owner} signed at ${now()}, learned at ${known.learnedAt} of the change in block ${known.cut}, and did not check it since`,
        );
    },
    reading: (next) => async (replica, method, params, ask) => {
      const known = knownOf(replica);
      const askedAt = now();
      const answer = await next(replica, method, params, ask);
      const [call] = params as readonly [{ readonly data?: string }?];
      if (known !== null && 'result' in answer && method === 'eth_call' && call?.data?.includes(FACET_SELECTOR) === true)
        known.identifiedAt = Math.max(known.identifiedAt, askedAt);
      return answer;
    },
    early: () => early,
    doubts: () => doubts,
  };
}
