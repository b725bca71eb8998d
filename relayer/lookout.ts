import type { RelayJob } from '../core/ports/stores/relay.js';
import { allDone } from './all-done.js';
import { createChainCount } from './chain-count.js';
import type { DailyBudget } from './daily-budget.js';
import type { Delivery } from './deliver.js';
import type { LaneFence } from './fence.js';
import { firstFees } from './fees.js';
import type { InHand } from './in-hand.js';
import type { LaneOptions } from './lane-options.js';
import type { OneAtATime } from './one-at-a-time.js';
import { settleJobs, type SettleMemory } from './settle.js';
import { NO_OP_GAS } from './sign-jobs.js';

export interface LookoutOptions extends LaneOptions {
  readonly fence: LaneFence;
  readonly delivery: Delivery;
  /** Nonces are given and taken back by one at a time. */
  readonly numbers: OneAtATime;
  readonly inHand: InHand;
  readonly budget: Pick<DailyBudget, 'refresh'>;
  /** Whether the lane is still held. */
  readonly isOurs: () => boolean;
  readonly paceMs: number;
}

/** What a lane knows of the chain, and what follows from it: receipts, holes, fees, funds, and the next step of each open job. */
export interface Lookout {
  isDue(): boolean;
  hasLooked(): boolean;
  /** No nonce below this is free, by the last look that could be believed. */
  leastNonce(): number;
  blockSeen(): void;
  /** While others begin jobs, which it leaves alone. True when something of the wallet's is under way. */
  look(): Promise<boolean>;
  lookAtChain(open: readonly RelayJob[], begun?: ReadonlySet<bigint>): Promise<void>;
  /** Somebody else looked after the lane meanwhile. */
  forget(): void;
}

/** For so long after its last job a lane looks with every block: the one that held it may be taken back. */
const LOOK_BACK_MS = 120_000;
/** So often an idle lane looks whether it could send. */
const IDLE_MS = 15_000;
/** What an order takes, more or less: a wallet that cannot pay for one is empty. */
const USUAL_GAS = 500_000n;
/** So many nonces that nobody ever had are filled. More are no accident of a chain, and what a wallet pays for no-ops has to end somewhere. */
const MOST_GAPS = 20;

export function createLookout(options: LookoutOptions): Lookout {
  const { definition, wallet, node, store, settings, clock, log, onStep, fence, delivery, numbers, inHand, budget, isOurs, paceMs } =
    options;
  const { slug } = definition;
  const memory: SettleMemory = { doubts: new Map(), isOneBranch: false };
  const nextOfOurs = async (): Promise<number> => (await store.lane(slug, wallet.address)).nextNonce ?? 0;
  const count = createChainCount({ clock, doubtMs: settings.doubtMs, nextOfOurs });
  /** As the node counted last, believed or not. */
  let chainNonce: number | null = null;
  /** To the end: until then it is not known which nonces are free. */
  let hasLooked = false;
  let isBlockSeen = true;
  let lookedAt = 0;
  let busyAt = 0;
  /** Since when the transaction that is next on chain is open. */
  let waiting: { readonly nonce: number; readonly since: number } | null = null;

  async function look(): Promise<boolean> {
    const begun = inHand.fromNow();
    const open = await store.open(slug, wallet.address);
    if (!isWorthIt(open)) return false;
    isBlockSeen = false;
    lookedAt = clock.now();
    await delivery.renewFees();
    await lookAtChain(open, begun);
    const left = await store.open(slug, wallet.address);
    delivery.forgetAllBut([...left.map(({ id }) => id), ...begun]);
    judgeWait(left);
    if (!isOurs()) return false;
    await allDone(left.filter(({ id, nonce }) => nonce !== null && !begun.has(id)).map((job) => delivery.push(job)));
    return open.length > 0;
  }

  function isWorthIt({ length }: readonly RelayJob[]): boolean {
    if (length > 0) busyAt = clock.now();
    if (length > 0 || fence.trouble() !== null) return true;
    const age = clock.now() - lookedAt;
    return age >= IDLE_MS || (age >= paceMs && clock.now() - busyAt < LOOK_BACK_MS);
  }

  /** Receipts first: what is mined needs nothing more. Then holes that would keep everything above them waiting. */
  async function lookAtChain(open: readonly RelayJob[], begun: ReadonlySet<bigint> = new Set()): Promise<void> {
    const numbered = open.filter(({ nonce }) => nonce !== null);
    const { nonce, balance } = await node.account(wallet.address);
    chainNonce = nonce;
    const { doubtMs } = settings;
    await settleJobs({ store, node, slug, wallet: wallet.address, clock, log, onStep, memory, doubtMs }, numbered, nonce);
    await budget.refresh(balance, numbered);
    const oddity = await goBy(nonce, numbered);
    hasLooked = true;
    if (oddity === null) fence.clear('nonce');
    else fence.meet('nonce', oddity);
    // What was begun meanwhile may have met what this look knows nothing of; being taken clears it as well.
    const isQuiet = begun.size === 0 && !numbered.some(isUnsent);
    if (isQuiet) fence.clear('node');
    await judgeFunds(isQuiet, balance);
  }

  /** Puts the lane where the chain is; what keeps it from that comes back in words. */
  async function goBy(nonce: number, numbered: readonly RelayJob[]): Promise<string | null> {
    const heard = await count.hear(nonce, numbered.at(-1)?.nonce ?? -1);
    if (heard !== 'believed') return `its node counts ${heard.strangers} transactions of its wallet that were not sent from here`;
    if (numbered.length > 0) return fillHoles(numbered, nonce);
    await numbers(() => store.resetLane(slug, wallet.address, nonce));
    return null;
  }

  async function fillHoles(numbered: readonly RelayJob[], from: number): Promise<string | null> {
    const taken = new Set(numbered.map((job) => job.nonce));
    const below = numbered.at(-1)?.nonce ?? from;
    let isDense = true;
    for (let nonce = from; nonce < below && isDense; nonce += 1) isDense = taken.has(nonce);
    if (isDense) return null;
    const holes = await store.holes(slug, wallet.address, from, below);
    if (holes.filter(({ isGivenUp }) => !isGivenUp).length > MOST_GAPS)
      return `more than ${MOST_GAPS} nonces are missing between the chain's ${from} and its own ${below}`;
    for (const { nonce } of holes) {
      const filler = await store.fillGap(slug, wallet.address, nonce, NO_OP_GAS, clock.now());
      if (filler) log.warn('relay.gap-filled', { wallet: wallet.address, nonce, job: filler.id });
    }
    return null;
  }

  /** What a node refused for want of money heals by being taken; where nothing is left to be taken, by the balance. */
  async function judgeFunds(isQuiet: boolean, balance: bigint): Promise<void> {
    const usual = USUAL_GAS * firstFees(await delivery.currentFees(), settings).maxFeePerGas;
    if (balance < usual) fence.meet('funds', `its wallet ${wallet.address} has too little to pay for gas`);
    else if (isQuiet && balance >= delivery.wanting()) fence.clear('funds');
  }

  /** The next transaction on chain is ours, and does not come. */
  function judgeWait(open: readonly RelayJob[]): void {
    const next = open.find((job) => job.nonce !== null && job.nonce === chainNonce);
    if (!next || chainNonce === null) waiting = null;
    else if (waiting?.nonce !== chainNonce) waiting = { nonce: chainNonce, since: clock.now() };
    if (waiting === null || clock.now() - waiting.since < settings.jammedMs) return fence.clear('stuck');
    fence.meet('stuck', `its transaction ${waiting.nonce} waits for a block`, waiting.since);
  }

  return {
    // A clock that was set back has seen no look yet.
    isDue: () => chainNonce === null || isBlockSeen || clock.now() < lookedAt || clock.now() - lookedAt >= paceMs,
    hasLooked: () => hasLooked,
    leastNonce: () => count.believed(),
    blockSeen: () => void (isBlockSeen = true),
    look,
    lookAtChain,
    forget() {
      [chainNonce, hasLooked] = [null, false];
      count.forget();
      waiting = null;
      memory.doubts.clear();
      memory.isOneBranch = false;
    },
  };
}

const isUnsent = ({ state }: RelayJob): boolean => state === 'numbered' || state === 'signed' || state === 'unknown';
