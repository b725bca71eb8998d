import { Transaction } from 'ethers';
import type { Hex } from '../../../core/types.js';
import type { LaneState } from '../faults/fault-table.js';
import type { Owner } from '../scheduler.js';
import type { Replica } from '../replica.js';
import type { World } from '../world.js';

type Read = <Row extends object>(sql: string) => Promise<Row[]>;

/** What the databases of a run held when one took the place of the other, and what replicas did then. */
export interface LossWatch {
  /** Within the event of a change. */
  readonly look: (read: Read) => Promise<Seen>;
  swapped(kind: Swap['kind'], before: Seen, after: Seen): void;
  isUp(): void;
  /** After each round trip that gives jobs a state. */
  observe(state: LaneState, owner: Owner): Promise<void>;
  onLoss(task: () => void): void;
  readonly swaps: readonly Swap[];
  /** Signatures before the review, or before the lane was compared with the chain. */
  early(): readonly string[];
  /** Times in which a replica did not know for too long whether commits were lost. */
  pauses(): readonly string[];
  longestPauseMs(): number;
}

export interface Seen {
  /** What is given once: ids, cursors, and nonces of signed requests. */
  readonly given: ReadonlySet<string>;
  readonly hashes: ReadonlySet<string>;
  readonly reviews: bigint;
  readonly losses: bigint;
}

export interface Swap {
  /** `same`: the connections were cut, and nothing was lost. */
  readonly kind: 'lost' | 'emptied' | 'same';
  /** Epoch ms. */
  readonly at: number;
  /** What was given in the time that was lost. */
  readonly lost: ReadonlySet<string>;
  readonly reviews: bigint;
  readonly losses: bigint;
  /** Transactions of the relayer that were stored. */
  readonly hashes: ReadonlySet<string>;
  /** The first review after it has ended. */
  isReviewed: boolean;
  /** Every process that could remember what was lost took part in that review. */
  isRemembered: boolean;
}

const GIVEN = `
  select 'order ' || id as name from orders union all
  select 'oid ' || oid from exchange_orders union all
  select 'job ' || id from relay_jobs union all
  select 'action ' || id from relay_actions union all
  select 'signed ' || signer || ' ' || nonce from relay_actions union all
  select 'cursor ' || trader || ' ' || cursor from journal`;
const HASHES = 'select hash from relay_hashes';
const NEWEST = `
  select (select coalesce(max(id), 0)::text from continuity_reviews) as reviews, (select coalesce(max(id), 0)::text from commit_losses) as losses`;
const REVIEWED = `
  select review.id::text, (select count(*)::integer from continuity_reports report where report.review = review.id) as reports
  from continuity_reviews review where ended_at is not null order by review.id`;
/** Of lanes that were not compared with the chain after the newest loss. */
const UNSETTLED = `
  select hash from relay_hashes hash join relay_jobs job on job.id = hash.job_id
  join relay_lanes lane on lane.chain = job.chain and lane.wallet = job.wallet
  where lane.reconciled_loss < (select coalesce(max(id), 0) from commit_losses)`;

const LOOK_EVERY_MS = 100;
/** Five seconds for the reports of other replicas, and until a connection is open again. */
const LONGEST_PAUSE_MS = 6_000;

export interface LossWatchParts {
  readonly world: World;
  /** Signed transactions that have left a replica. */
  readonly sent: ReadonlySet<Hex>;
  /** A fault keeps a replica from the database, or it stands still. */
  readonly isDisturbed: () => boolean;
}

export function watchLosses({ world, sent, isDisturbed }: LossWatchParts): LossWatch {
  const { scheduler, gate, replicas } = world;
  const swaps: Swap[] = [];
  const early: string[] = [];
  const pauses: string[] = [];
  const tasks: (() => void)[] = [];
  /** Processes since the last change that lost nothing they could remember. */
  let processes = new Set<Replica>();
  const doubtful = new Map<string, number>();
  let longest = 0;
  let isDown = false;
  const now = (): number => scheduler.epoch + scheduler.now();

  const look = async (read: Read): Promise<Seen> => {
    const [newest] = await read<{ reviews: string; losses: string }>(NEWEST);
    return {
      given: new Set((await read<{ name: string }>(GIVEN)).map(({ name }) => name)),
      hashes: new Set((await read<{ hash: string }>(HASHES)).map(({ hash }) => hash)),
      reviews: BigInt(newest?.reviews ?? 0),
      losses: BigInt(newest?.losses ?? 0),
    };
  };

  const alive = (): Replica[] => [...replicas.values()].filter((replica) => replica.isAlive() && replica.gateway() !== null);
  const stands = ({ name }: Replica): boolean => scheduler.stateOf(name) === 'running';

  async function judgeReviews(): Promise<void> {
    const open = swaps.filter(({ isReviewed }) => !isReviewed);
    if (open.length === 0) return;
    const reviewed = await gate.readNow<{ id: string; reports: number }>(REVIEWED);
    for (const swap of open) {
      const first = reviewed.find(({ id }) => BigInt(id) > swap.reviews);
      if (first === undefined) continue;
      swap.isReviewed = true;
      const remembering = [...processes];
      swap.isRemembered = remembering.every((replica) => replica.isAlive()) && first.reports >= remembering.length;
    }
    if (swaps.every(({ isReviewed }) => isReviewed)) processes = new Set(alive());
  }

  function judgePauses(): void {
    for (const replica of replicas.values()) {
      const doubt = replica.isAlive() && stands(replica) ? (replica.gateway()?.store.continuity.doubt() ?? null) : null;
      if (doubt === null || isDown || isDisturbed()) {
        doubtful.delete(replica.name);
        continue;
      }
      const since = doubtful.get(replica.name) ?? now();
      doubtful.set(replica.name, since);
      longest = Math.max(longest, now() - since);
      if (now() - since >= LONGEST_PAUSE_MS && now() - since < LONGEST_PAUSE_MS + LOOK_EVERY_MS)
        pauses.push(`${replica.name} does not know since ${since} whether commits were lost: ${doubt}`);
    }
  }

  // Of an owner that ends with the run.
  const timers = scheduler.lane('clients', 'clients/losses');
  const watch = async (): Promise<void> => {
    for (const replica of alive()) processes.add(replica);
    await judgeReviews();
    judgePauses();
    timers.schedule(LOOK_EVERY_MS, 'losses', watch);
  };
  timers.schedule(LOOK_EVERY_MS, 'losses', watch);

  const hashes = new Map<Hex, string>();
  function isSent(hash: string): boolean {
    for (const raw of sent) if (!hashes.has(raw)) hashes.set(raw, Transaction.from(raw).hash ?? '');
    return [...hashes.values()].includes(hash);
  }

  return {
    look,
    swapped(kind, before, after) {
      const lost = new Set([...before.given].filter((name) => !after.given.has(name)));
      const { reviews, losses, hashes: stored } = after;
      const swap: Swap = { kind, at: now(), lost, reviews, losses, hashes: stored, isReviewed: false, isRemembered: false };
      swaps.push(swap);
      isDown = kind !== 'same' || isDown;
      if (kind !== 'same') for (const task of tasks) task();
    },
    isUp: () => void (isDown = false),
    async observe(state, owner) {
      const swap = swaps.at(-1);
      if (state !== 'signed' || swap === undefined) return;
      const signer = [...replicas.values()].find(({ name }) => name === owner);
      const isOlder = signer !== undefined && scheduler.epoch + signer.startedAt < swap.at;
      const reviewed = await gate.readNow<{ id: string }>(REVIEWED);
      if (isOlder && !reviewed.some(({ id }) => BigInt(id) > swap.reviews))
        early.push(`${owner} signed at ${now()}: since ${swap.at} it was not known whether commits were lost`);
      const unsettled = await gate.readNow<{ hash: string }>(UNSETTLED);
      for (const { hash } of unsettled)
        if (!swap.hashes.has(hash) && !isSent(hash))
          early.push(`${owner} stored ${hash} at ${now()}, and its lane was not compared with the chain since commits were lost`);
    },
    onLoss: (task) => void tasks.push(task),
    swaps,
    early: () => [...new Set(early)],
    pauses: () => pauses,
    longestPauseMs: () => longest,
  };
}
