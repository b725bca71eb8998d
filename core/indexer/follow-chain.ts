import { onVenue, type Gateway, type Venue } from '../gateway.js';
import { ChainMovedError, type LogRange } from '../ports/chain.js';
import type { BlockHead, Hex } from '../types.js';
import { watchHashes } from '../trading/watch-hashes.js';
import { createFollowFailures } from './follow-failures.js';
import {
  COUNTED_AT_ONCE,
  countStored,
  foldStored,
  revertTo,
  ingest,
  ingestLate,
  timeOut,
  timeoutBlocks,
  unansweredUpTo,
} from './chain-steps.js';
import { readKept } from './read-kept.js';
import type { ChainCursor, Checkpoint, Lease, UnloggedWork } from '../ports/stores/tracking.js';
import { createKnownByLooks, TRY_AGAIN_MS } from '../domain/known-by-looks.js';

export interface FollowOptions {
  /** First block on an empty database; null = a day before now. */
  readonly startBlock: bigint | null;
  /** Blocks required on top of a block before its events are ingested; absent: none, and reorganised blocks are reverted. */
  readonly confirmations?: number;
}

const PACE_MS = 1_000;
const REREAD_EVERY_MS = 5_000;
const REREAD_BLOCKS = 32n;
const REREAD_MAX = 1_000n;
export const LOOK_BACK_MS = 24 * 3_600_000;
/** Blocks per log request: halved when the node refuses, doubled while it answers. */
export const LOG_BATCH = { first: 1_000n, most: 10_000n } as const;
const FORK_SEARCH = 64;

interface Round {
  /** There are more blocks to read without waiting. */
  readonly isBehind: boolean;
  /** Blocks were stored, or the newest one is the stored one. */
  readonly isVerified: boolean;
}

const IDLE: Round = { isBehind: false, isVerified: false };

/** Follows the Diamond's logs from the stored cursor, on one replica at a time (lease). The returned function stops it and resolves when it has ended. */
export function followChain(gateway: Gateway, venue: Venue, options: FollowOptions): () => Promise<void> {
  const follower = createFollower(gateway, venue, options);
  return () => follower.stop();
}

function createFollower(gateway: Gateway, venue: Venue, options: FollowOptions) {
  const { clock, log, state } = venue;
  const { tracking } = gateway.store;
  const { slug } = venue.definition;
  const confirmations = BigInt(options.confirmations ?? 0);
  const stopping = new AbortController();
  const failures = createFollowFailures(gateway, venue);
  let lease: Lease | null = null;
  /** The progress of the replica that follows; not known while none but this one is known to follow. */
  const progress = createKnownByLooks();
  /** The cursor after this replica's last step; every step checks that the stored cursor still equals it. */
  let ownCursor: ChainCursor | null = null;
  /** An earlier release, or another replica's, may have kept transactions that this one can read. */
  let mayHaveKept = true;
  let batch: bigint = LOG_BATCH.first;
  let rereadAt = clock.now();
  /** Inputs by hash of transactions without logs since the last `watchHashes`; null when some of those blocks were not read completely. */
  let silent: Map<Hex, Hex> | null = null;
  let rereadUpTo: { readonly last: bigint; readonly before: bigint } | null = null;
  /** Of the cursor's block; null where it has to be asked for. */
  let unlogged: UnloggedWork | null = null;
  /** Stored executions may be missing in the minutes of the markets: another release may have stored them. */
  let hasUncounted = true;
  /** Stored fills may be without their net position: another release may have stored them, or this one before the collaterals were loaded. */
  let hasUnfolded = true;
  let wake = new AbortController();
  const cancels = [
    onVenue(gateway, venue, 'head', () => wake.abort()),
    // Without a new block only this can have changed. Only the follower's own reads find that none is left: this one may be older than they are.
    onVenue(gateway, venue, 'due', ({ due }) => {
      if (!due.sentOrders || unlogged === null || unlogged.sent) return;
      unlogged = { ...unlogged, sent: true };
      wake.abort();
    }),
    onVenue(gateway, venue, 'due', ({ askedAt, due }) => othersProgress(due.indexedBlock, askedAt)),
  ];

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const isBehind = await round().then(succeeded, failed);
      if (isBehind) continue;
      // `stop` aborts `wake` too: a combined signal would be retained by the one that lives as long as the follower.
      if (!wake.signal.aborted) await clock.sleep(progress.isKnown() ? TRY_AGAIN_MS : PACE_MS, wake.signal);
      wake = new AbortController();
    }
    await lease?.release().catch(() => undefined);
  }

  function succeeded({ isBehind, isVerified }: Round): boolean {
    if (isVerified) failures.recovered();
    return isBehind;
  }

  function failed(error: unknown): false {
    // A replica that cannot try for the lease does not know of a follower; what was stored last must not hide the failure.
    progress.forget();
    mayHaveKept = true;
    ownCursor = null;
    unlogged = null;
    failures.failed(error);
    return false;
  }

  async function round(): Promise<Round> {
    if (newestHead() === null || !(await holdsLease())) return IDLE;
    // Read again: the lease may have taken a while.
    const newest = newestHead();
    const head = newest && (await confirmed(newest));
    if (head === null) return IDLE;
    const cursor = ownCursor ?? (await tracking.cursor(slug)) ?? (await begin(head));
    failures.begin(cursor.number);
    if (mayHaveKept && cursor.number >= cursor.startBlock) {
      mayHaveKept = false;
      if (!(await readKept(gateway, venue, cursor))) {
        ownCursor = null;
        return { isBehind: true, isVerified: false };
      }
    }
    const reached = await advance(cursor, head);
    recordProgress(reached.number, head.number);
    ownCursor = reached.hash === null ? null : reached;
    if (hasUncounted) hasUncounted = await countStored(gateway, venue, reached);
    const isFolding = hasUnfolded ? await foldStored(gateway, venue, reached) : false;
    hasUnfolded = isFolding !== false;
    if (reached.number < head.number || hasUncounted || isFolding === true) return { isBehind: true, isVerified: true };
    if (!(await rereadWhenDue(reached))) {
      ownCursor = null;
      return { isBehind: true, isVerified: true };
    }
    await applyUnloggedChanges(reached);
    return { isBehind: false, isVerified: true };
  }

  const newestHead = (): BlockHead | null => (state.fault === null ? (state.head?.block ?? null) : null);

  /** The newest block with the required confirmations. */
  async function confirmed(newest: BlockHead): Promise<BlockHead | null> {
    const wanted = newest.number - confirmations;
    if (wanted === newest.number || wanted < 0n) return wanted < 0n ? null : newest;
    const [block] = await venue.chain.blocks([wanted]);
    return block ?? null;
  }

  /** Changes that no log reports: oracle timeouts, failed transactions and expired orders. */
  async function applyUnloggedChanges(cursor: ChainCursor): Promise<void> {
    const timeoutAfter = timeoutBlocks(venue);
    unlogged ??= await tracking.waiting(slug, unansweredUpTo(venue, cursor));
    const { unanswered, sent } = unlogged;
    if (unanswered && timeoutAfter !== null) await timeOut(gateway, venue, cursor, timeoutAfter);
    if (sent) await watchHashes(gateway, venue, cursor, silent);
    silent = new Map();
    // Until the next block there is no other.
    unlogged = { unanswered: timeoutAfter === null && unanswered, sent };
  }

  async function holdsLease(): Promise<boolean> {
    if (lease && !lease.isHeld()) {
      await lease.release().catch(() => undefined);
      lease = null;
      hasUncounted = true;
      hasUnfolded = true;
      ownCursor = null;
      unlogged = null;
    }
    lease ??= await tracking.lease(slug, stopping.signal);
    if (lease === null) {
      mayHaveKept = true;
      await waitForFollower();
    } else progress.forget();
    return lease !== null;
  }

  /** The cursor is read when another replica turns out to follow; later the look at what is due brings it. */
  async function waitForFollower(): Promise<void> {
    const askedAt = clock.monotonic();
    if (stopping.signal.aborted || !progress.beginRead(askedAt)) return;
    othersProgress((await tracking.cursor(slug))?.number ?? null, askedAt);
  }

  function othersProgress(block: bigint | null, askedAt: number): void {
    const head = newestHead();
    if (head === null || !progress.takeLook(askedAt)) return;
    const wanted = head.number - confirmations;
    // Another replica follows now, and stores what this one could not.
    if (block !== null && (block >= wanted || block > (state.followed.block ?? -1n))) failures.recovered();
    recordProgress(block, wanted);
  }

  async function begin(head: BlockHead): Promise<ChainCursor> {
    const lookBack = BigInt(Math.ceil(LOOK_BACK_MS / venue.definition.expectedBlockMs));
    const wanted = options.startBlock ?? head.number - lookBack;
    const startBlock = wanted < 0n ? 0n : wanted;
    log.info('chain.follow-begins', { startBlock, head: head.number });
    const [before] = startBlock === 0n ? [] : await venue.chain.blocks([startBlock - 1n]);
    return { startBlock, number: startBlock - 1n, hash: before?.hash ?? null };
  }

  async function advance(cursor: ChainCursor, head: BlockHead): Promise<ChainCursor> {
    if (head.number <= cursor.number) return (await isSameChain(cursor, head)) ? cursor : revert(cursor);
    const from = cursor.number + 1n;
    const range = await readRange(from, head.number);
    if (cursor.hash !== null && range.blocks[0]?.parentHash !== cursor.hash) return revert(cursor);
    const { cursor: reached, ...found } = await ingest(gateway, venue, cursor, range);
    unlogged = found.unlogged;
    hasUncounted ||= range.logs.length > COUNTED_AT_ONCE;
    if (range.silent === null) silent = null;
    else for (const [hash, input] of range.silent) silent?.set(hash, input);
    if (reached.number < head.number) log.info('chain.catching-up', { block: reached.number, head: head.number });
    return reached;
  }

  /** A head below the cursor comes from a lagging node, unless its hash differs from our checkpoint at that height. */
  async function isSameChain(cursor: ChainCursor, head: BlockHead): Promise<boolean> {
    if (head.number === cursor.number) return head.hash === cursor.hash;
    const [checkpoint] = await tracking.checkpoints(slug, head.number + 1n, 1);
    return checkpoint?.number !== head.number || checkpoint.hash === head.hash;
  }

  /** Providers refuse ranges that are too long or hold too many logs, each with a different error: any failure is retried with half the range. */
  async function readRange(from: bigint, head: bigint): Promise<LogRange> {
    for (;;) {
      const to = min(from + batch - 1n, head);
      try {
        const range = await venue.chain.logs(from, to);
        if (to < head) batch = min(batch * 2n, LOG_BATCH.most);
        return range;
      } catch (error) {
        if (to === from || error instanceof ChainMovedError) throw error;
        batch = (to - from + 1n) / 2n;
        log.debug('chain.smaller-batch', { batch });
      }
    }
  }

  async function revert(cursor: ChainCursor): Promise<ChainCursor> {
    unlogged = null;
    hasUncounted = true;
    return revertTo(gateway, venue, cursor, await lastCommon(cursor.number + 1n));
  }

  /** The newest checkpoint that is still on the chain. */
  async function lastCommon(below: bigint): Promise<Checkpoint | null> {
    const checkpoints = await tracking.checkpoints(slug, below, FORK_SEARCH);
    const oldest = checkpoints.at(-1);
    if (!oldest) return null;
    const known = state.head === null ? checkpoints : checkpoints.filter(({ number }) => number <= (state.head?.block.number ?? 0n));
    const canonical = new Set((await venue.chain.blocks(known.map(({ number }) => number))).map(({ hash }) => hash));
    return known.find(({ hash }) => canonical.has(hash)) ?? lastCommon(oldest.number);
  }

  /** Every block is read again at least twice, the second time some seconds after it arrived. False = the cursor was moved back. */
  async function rereadWhenDue(cursor: ChainCursor): Promise<boolean> {
    rereadUpTo ??= { last: cursor.number, before: cursor.number };
    if (clock.now() - rereadAt < REREAD_EVERY_MS || cursor.number < cursor.startBlock) return true;
    rereadAt = clock.now();
    const from = max(min(cursor.number - REREAD_BLOCKS, rereadUpTo.before), cursor.number - REREAD_MAX) + 1n;
    rereadUpTo = { last: cursor.number, before: rereadUpTo.last };
    const range = await venue.chain.logs(max(from, cursor.startBlock), cursor.number);
    if (range.logs.length > 0) unlogged = null;
    return ingestLate(gateway, venue, cursor, range);
  }

  function recordProgress(block: bigint | null, head: bigint): void {
    const { followed } = state;
    followed.block = block;
    followed.fault = null;
    if (block !== null && block >= head) followed.caughtUpAt = clock.now();
  }

  const done = run();
  return {
    async stop(): Promise<void> {
      stopping.abort();
      wake.abort();
      cancels.forEach((cancel) => cancel());
      await done;
    },
  };
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
