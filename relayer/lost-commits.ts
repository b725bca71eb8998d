import { walletKey, type CommitLoss } from '../core/ports/stores/continuity.js';
import { createForgotten, type Forgotten } from './forgotten-transactions.js';
import type { LaneProblems } from './lane-problems.js';
import type { LaneOptions } from './lane-options.js';
import { isTradingCall } from './match-transactions.js';
import { reconcileLoss } from './reconcile-loss.js';
import { HeldError, type Signer } from './signer.js';

/** Keeps a lane from signing while the database may have lost commits, or has and was not compared with the chain yet. */
export interface LostCommits {
  /** Why nothing may be signed or sent; null if it may. Reads memory only. */
  readonly held: () => string | null;
  /** Takes the next step towards signing; true if the lane may sign. */
  settle(): Promise<boolean>;
  /**
   * At the start of a process, which remembers nothing: transactions of the wallet that are not stored. Returns for those that no relayer
   * sent; throws HeldError where they prove that commits were lost, or may still.
   */
  readonly judgeForeign: (pending: number) => Promise<void>;
}

export interface LostCommitsOptions extends Omit<LaneOptions, 'wallet'> {
  readonly signer: Pick<Signer, 'address'>;
  readonly problems: Pick<LaneProblems, 'report' | 'clear'>;
}

const LOST = 'its database lost commits, and what its wallet sent is being read from the chain';

export function createLostCommits(options: LostCommitsOptions): LostCommits {
  const { continuity, recovery, definition, signer, problems, clock, log } = options;
  const { slug } = definition;
  const addresses = { wallet: signer.address, diamond: definition.diamond };
  const key = walletKey(slug, signer.address);
  /** The loss after which the lane was compared with the chain, and the nonce at which it went on. */
  let settled: { readonly id: bigint; readonly detectedAt: number; readonly nextNonce: number } | null = null;
  let forgotten: Forgotten | null = null;
  let isJudging = false;
  let judged = 0;

  function openLoss(): CommitLoss | null {
    const loss = recovery === undefined ? null : (continuity?.lastLoss() ?? null);
    if (loss === null || settled === null) return loss;
    // A replica that reported late may have remembered a higher nonce.
    const isSettled =
      loss.id === settled.id && loss.detectedAt === settled.detectedAt && (loss.walletNonces[key] ?? -1) < settled.nextNonce;
    return isSettled ? null : loss;
  }

  const held = (): string | null => continuity?.doubt() ?? (openLoss() === null ? null : LOST);

  async function settle(): Promise<boolean> {
    const doubt = continuity?.doubt() ?? null;
    const loss = openLoss();
    if (doubt !== null) {
      forgotten = null;
      problems.report('database', doubt);
    } else if (loss === null || recovery === undefined) {
      if (!isJudging) problems.clear('database');
    } else if (await compare(loss)) problems.clear('database');
    else problems.report('database', LOST);
    return held() === null;
  }

  /** True once the lane and the chain are the same. */
  async function compare(loss: CommitLoss): Promise<boolean> {
    if (recovery === undefined) return true;
    const remembered = loss.walletNonces[key] ?? -1;
    const lane = await recovery.store.lane(slug, addresses.wallet);
    const isStored = lane.reconciledLoss >= loss.id && remembered < (lane.nextNonce ?? 0);
    forgotten ??= createForgotten({ ...options, ...addresses, recovery });
    const nextNonce = isStored
      ? (lane.nextNonce ?? 0)
      : await reconcileLoss({ ...options, ...addresses, recovery, forgotten, requireKnown }, { loss, remembered, lane });
    if (nextNonce === null) return false;
    settled = { id: loss.id, detectedAt: loss.detectedAt, nextNonce };
    forgotten = null;
    isJudging = false;
    return true;
  }

  function requireKnown(): void {
    const doubt = continuity?.doubt() ?? null;
    if (doubt !== null) throw new HeldError(doubt);
  }

  async function judgeForeign(pending: number): Promise<void> {
    if (recovery === undefined || continuity === undefined || pending === judged) return;
    const { nextNonce } = await recovery.store.lane(slug, addresses.wallet);
    // What a wallet sent before this database knew it proves nothing.
    if (nextNonce === null) return;
    isJudging = true;
    const search = (forgotten ??= createForgotten({ ...options, ...addresses, recovery }));
    const count = await search.settledCount([]);
    if (count === null) return waits();
    const { transactions } = await search.find(Array.from({ length: Math.max(0, count - nextNonce) }, (_, at) => nextNonce + at));
    const calls = transactions.filter((each) => isTradingCall(each, addresses));
    const [first] = calls;
    if (first !== undefined && !(await search.isFinal(first.nonce))) return waits();
    [forgotten, isJudging] = [null, false];
    requireKnown();
    if (calls.length > 0 && openLoss() === null) {
      log.error('relay.commits-lost', { wallet: addresses.wallet, transactions: calls.length, from: nextNonce });
      const reason = `the wallet ${addresses.wallet} sent ${calls.length} trading transactions that are not stored`;
      await continuity.prove({ reason, at: clock.now() });
    }
    if (openLoss() !== null) throw new HeldError(LOST);
    judged = pending;
  }

  function waits(): never {
    problems.report('database', 'its wallet sent transactions that are not stored, and they are not final yet');
    throw new HeldError('not final yet');
  }

  return { held, settle, judgeForeign };
}
