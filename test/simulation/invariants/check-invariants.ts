import { SLUG, type Evidence, type Invariant, type Violation } from './evidence.js';
import { noOrderWithoutRequest, oneOrderPerRequest, viewEqualsChain, answersHold } from './orders.js';
import { streamsEqualJournal } from './streams.js';
import { jobsHaveAnEnd, lanesAreFree, ledgerEqualsBalance, oneTransactionPerJob, quotaHolds } from './relay.js';

/** Events that a replica logs only when it meets something its authors did not foresee. */
const UNFORESEEN = /internal-error$|listener-failed$|^process\.|frame-not-made$|frame-failed$|stop-failed$|start-failed$|story-lost$/;

/** Every invariant by its name. */
export const INVARIANTS: Readonly<Record<string, Invariant>> = {
  'nothing unhandled': ({ unhandled, world, faults }) => [
    ...unhandled,
    ...faults.failures(),
    ...[...world.replicas.values()].flatMap(({ name, log }) =>
      log.entries
        .filter(({ level, event }) => level === 'error' && UNFORESEEN.test(event))
        .map(({ event, fields }) => `${name} logged ${event}: ${describe(fields['error'])}`),
    ),
  ],
  'every job has an end': jobsHaveAnEnd,
  'one mined transaction per job': oneTransactionPerJob,
  'the gas ledger equals the balance': ledgerEqualsBalance,
  'the quota of a trader holds': quotaHolds,
  'no lane stays blocked': lanesAreFree,
  'the journal has no gap, repeat or change': ({ journal }) => journal.complaints(),
  'streams equal the journal': streamsEqualJournal,
  'what clients were answered holds': answersHold,
  'no order without a request': noOrderWithoutRequest,
  'a signed request makes one order': oneOrderPerRequest,
  'the view equals the chain': viewEqualsChain,
};

const describe = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

export const SETTLE_LIMIT_MS = 180_000;
const LOOK_EVERY_MS = 2_000;
const LONGEST_BLOCKED_MS = 60_000;

/** Waits until everything has ended that should, then judges. */
export async function checkInvariants(evidence: Evidence): Promise<Violation[]> {
  const { scheduler } = evidence.world;
  const blockedMs = await untilAtRest(evidence);
  const violations: Violation[] = [];
  if (blockedMs > LONGEST_BLOCKED_MS)
    violations.push({ invariant: 'no lane stays blocked', text: `a lane was blocked for ${blockedMs} ms after the last fault` });
  for (const [invariant, holds] of Object.entries(INVARIANTS)) {
    const complaints = await scheduler.drive(Promise.resolve().then(() => holds(evidence)));
    for (const text of complaints) violations.push({ invariant, text });
  }
  return violations;
}

/** Resolves with how long a lane was still blocked. */
async function untilAtRest(evidence: Evidence): Promise<number> {
  const { scheduler } = evidence.world;
  const since = scheduler.now();
  let blockedMs = 0;
  for (;;) {
    const { isOver, isBlocked } = await scheduler.drive(openWork(evidence));
    if (isBlocked) blockedMs = scheduler.now() - since;
    if (isOver || scheduler.now() >= since + SETTLE_LIMIT_MS) return blockedMs;
    await scheduler.runUntil(scheduler.now() + LOOK_EVERY_MS);
  }
}

const OPEN = `
  select (select count(*) from relay_jobs where not is_over)::int as jobs,
    (select count(*) from relay_lanes where fenced_since is not null)::int as fenced,
    (select count(*) from orders join exchange_legs leg on leg.chain = orders.chain and leg.order_id = orders.id
      where status = 'prepared')::int as prepared,
    (select block_number::text from chain_cursors where chain = $1) as cursor,
    (select block_hash from chain_cursors where chain = $1) as hash`;

/** Over: no open job, no blocked lane, no order of the facade that could still be sent, and the index is where the chain is. */
async function openWork({ world: { gate, venue } }: Evidence): Promise<{ readonly isOver: boolean; readonly isBlocked: boolean }> {
  const [row] = await gate.read<{ jobs: number; fenced: number; prepared: number; cursor: string; hash: string }>(OPEN, [SLUG]);
  const [chain] = venue.sandbox.chains;
  const head = await chain?.node.head();
  const isBlocked = row?.fenced !== 0;
  return { isOver: row?.jobs === 0 && !isBlocked && row.prepared === 0 && row.hash === head?.hash, isBlocked };
}
