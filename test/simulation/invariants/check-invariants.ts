import { venueOf, type Gateway } from '../../../core/gateway.js';
import { hasTakenBlocksBack, SLUG, type Evidence, type Invariant, type Violation } from './evidence.js';
import { cancelsHold, noOrderWithoutRequest, oneOrderPerRequest, viewEqualsChain, answersHold } from './orders.js';
import { equityIsWhole } from './equity.js';
import { levelsAreTheirOrders } from './levels.js';
import { contractIsSettled, executedIsNeverRefused, nothingSignedUnchecked, onlyOpeningsWait } from './contract.js';
import {
  lossesAreReported,
  noIdIsGivenTwice,
  noNonceForTwoCalls,
  noRequestTwice,
  nothingSignedInDoubt,
  switchoversAreNoLoss,
} from './lost-commits.js';
import { streamsEqualJournal } from './streams.js';
import {
  budgetsHold,
  minedJobsHaveOrders,
  jobsFollowTable,
  jobsHaveAnEnd,
  lanesAreFree,
  ledgerEqualsBalance,
  oneTransactionPerJob,
  quotaHolds,
} from './relay.js';

/** Events that a replica logs only when it meets something its authors did not foresee. */
const UNFORESEEN =
  /internal-error$|listener-failed$|^process\.|frame-not-made$|frame-failed$|answer-not-sent$|prices-not-published$|stop-failed$|start-failed$|account-events-lost$/;

/** Every invariant by its name. */
export const INVARIANTS: Readonly<Record<string, Invariant>> = {
  'nothing unhandled': ({ unhandled, world, faults }) => [
    ...unhandled,
    ...faults.failures(),
    ...world.logs.flatMap(({ name, log }) =>
      log.entries
        .filter(({ level, event }) => level === 'error' && UNFORESEEN.test(event))
        .map(({ event, fields }) => `${name} logged ${event}: ${describe(fields['error'])}`),
    ),
  ],
  'every job has an end': jobsHaveAnEnd,
  'one mined transaction per job': oneTransactionPerJob,
  'a mined job has its order': minedJobsHaveOrders,
  'the gas ledger equals the balance': ledgerEqualsBalance,
  'the quota of a trader holds': quotaHolds,
  'the budget of a wallet holds': budgetsHold,
  'jobs follow their table': jobsFollowTable,
  'no lane stays blocked': lanesAreFree,
  'the journal has no gap, repeat or change': ({ journal }) => journal.complaints(),
  'streams equal the journal': streamsEqualJournal,
  'what clients were answered holds': answersHold,
  'what was canceled or replaced is over': cancelsHold,
  'no order without a request': noOrderWithoutRequest,
  'a signed request makes one order': oneOrderPerRequest,
  'the view equals the chain': viewEqualsChain,
  'the equity of an account is whole': equityIsWhole,
  'every level is listed under its order': levelsAreTheirOrders,
  'what was executed is never called refused': executedIsNeverRefused,
  'openings alone wait for unknown outcomes': onlyOpeningsWait,
  'nothing is signed on an unchecked contract': nothingSignedUnchecked,
  'a contract that is as before is used as before': contractIsSettled,
  'no id is given twice': noIdIsGivenTwice,
  'no signed request takes effect twice': noRequestTwice,
  'no nonce is used for two calls': noNonceForTwoCalls,
  'nothing is signed in doubt': nothingSignedInDoubt,
  'what was lost is reported': lossesAreReported,
  'a switchover is no loss': switchoversAreNoLoss,
};

const describe = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

export const SETTLE_LIMIT_MS = 180_000;
const LOOK_EVERY_MS = 500;
const LONGEST_BLOCKED_MS = 60_000;
const DELIVERY_LIMIT_MS = 20_000;
const REOPENED_WITHIN_MS = 3_000;
/** Until then the native API refuses what is signed. */
const REFUSED_AFTER_LOSS_MS = 40_000;

/** Waits until everything has ended that should, then judges. */
export async function checkInvariants(evidence: Evidence): Promise<Violation[]> {
  const { scheduler } = evidence.world;
  const blockedMs = await untilAtRest(evidence);
  const violations: Violation[] = [];
  if (blockedMs > LONGEST_BLOCKED_MS)
    violations.push({ invariant: 'no lane stays blocked', text: `a lane was blocked for ${blockedMs} ms after the last fault` });
  for (const [invariant, holds] of Object.entries(INVARIANTS)) {
    const look = (): Promise<readonly string[]> => scheduler.drive(Promise.resolve().then(() => holds(evidence)));
    const complaints = holds === streamsEqualJournal ? await untilDelivered(evidence, look) : await look();
    for (const text of complaints) violations.push({ invariant, text });
  }
  return violations;
}

/** Resolves with how long a lane was still blocked. When nothing is left to do, no more blocks come: what is compared then stands still. */
async function untilAtRest(evidence: Evidence): Promise<number> {
  const { scheduler, venue } = evidence.world;
  // A lane notices with the next blocks that the block of a finished job is gone, or that one which it has given up is in a block.
  const isUnsettled = hasTakenBlocksBack(evidence.faults) || evidence.faults.applied().includes('rpc-late-receipts');
  if (isUnsettled) await scheduler.runUntil(scheduler.now() + REOPENED_WITHIN_MS);
  const loss = evidence.faults.losses()?.swaps.findLast(({ kind }) => kind !== 'same');
  if (loss !== undefined && evidence.plan.arePatient === true) await scheduler.runUntil(loss.at - scheduler.epoch + REFUSED_AFTER_LOSS_MS);
  const [chain] = venue.sandbox.controls.chains;
  const since = scheduler.now();
  let blockedMs = 0;
  let isPaused = false;
  for (;;) {
    const { isBusy, isBlocked, isLevel } = await scheduler.drive(openWork(evidence));
    if (isBlocked) blockedMs = scheduler.now() - since;
    if ((!isBusy && isPaused && isLevel) || scheduler.now() >= since + SETTLE_LIMIT_MS) return blockedMs;
    if (isPaused === isBusy) {
      isPaused = !isBusy;
      await scheduler.drive(chain?.pauseMining(isPaused) ?? Promise.resolve());
    }
    await scheduler.runUntil(scheduler.now() + LOOK_EVERY_MS);
  }
}

/**
 * The newest entries of the journal may still be on their way to the streams, or wait for a new connection. They may be written at this
 * moment, such as that of an order that has expired, so the look that found nothing missing is the one that counts.
 */
async function untilDelivered({ world: { scheduler } }: Evidence, look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const until = scheduler.now() + DELIVERY_LIMIT_MS;
  let complaints = await look();
  while (complaints.length > 0 && scheduler.now() < until) {
    await scheduler.runUntil(scheduler.now() + LOOK_EVERY_MS);
    complaints = await look();
  }
  return complaints;
}

const OPEN = `
  select (select count(*) from relay_jobs where not is_over)::int as jobs,
    (select count(*) from relay_lanes where blocked_since is not null)::int as blocked,
    (select count(*) from relay_lanes where reconciled_loss < (select coalesce(max(id), 0) from commit_losses))::int as unsettled,
    (select count(*) from orders join exchange_legs leg on leg.chain = orders.chain and leg.order_id = orders.id
      where status = 'prepared')::int as prepared,
    (select block_hash from chain_cursors where chain = $1) as hash`;

interface OpenWork {
  /** A job is open, a lane blocked or not compared with the chain after lost commits, or an order of the facade could still be sent. */
  readonly isBusy: boolean;
  readonly isBlocked: boolean;
  /** The index and every replica are where the chain is. */
  readonly isLevel: boolean;
}

async function openWork({ world: { gate, venue, scheduler, replicas } }: Evidence): Promise<OpenWork> {
  const [row] = await gate.read<{ jobs: number; blocked: number; unsettled: number; prepared: number; hash: string | null }>(OPEN, [SLUG]);
  const head = await venue.sandbox.chains[0]?.node.head();
  if (row === undefined || head === undefined) throw new Error('there is no chain to look at');
  const { jobs, blocked, unsettled, prepared, hash } = row;
  const heads = [...replicas.values()].filter((replica) => replica.isAlive()).map((replica) => headOf(replica.gateway()));
  const isLevel = [hash, ...heads].every((reached) => reached === head.hash);
  scheduler.note(`phase rest? ${jobs} jobs, ${blocked} blocked, ${prepared} prepared, ${isLevel ? 'level' : 'behind'}`);
  return { isBusy: jobs > 0 || blocked > 0 || unsettled > 0 || prepared > 0, isBlocked: blocked > 0, isLevel };
}

/** The newest block that the replica has from its node; null while the node does not answer. */
function headOf(gateway: Gateway | null): string | null {
  const { head, fault } = (gateway === null ? null : venueOf(gateway, SLUG))?.state ?? { head: null, fault: null };
  return fault === null ? (head?.block.hash ?? null) : null;
}
