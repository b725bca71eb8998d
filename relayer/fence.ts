import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import { FENCE_CAUSES, type Fence, type FenceCause, type LaneHealth, type ToldFence } from '../core/ports/stores/relay.js';
import type { RelayStore } from '../core/ports/stores/relay.js';
import type { LaneWaits } from '../core/config/lane-waits.js';

/** What stands is told again this often: an alert may have been ended, or a row restored, by somebody who did not know of it. */
const AGAIN_MS = 30_000;

export interface LaneFence {
  /** `since` is when it began, where that is known to be earlier. */
  meet(cause: FenceCause, reason: string, since?: number): void;
  clear(cause: FenceCause): void;
  has(cause: FenceCause): boolean;
  /** Null while the lane may send. */
  now(): Fence | null;
  /** The newest trouble, believed or not. */
  trouble(): string | null;
  /** Tells all replicas, when there is something new to tell and now and then. */
  save(): Promise<void>;
  /** What the lane's owner told, for who is not. */
  adopt(lane: LaneHealth): void;
  /** Another replica owned the lane meanwhile: nothing is known of what it told. */
  forget(): void;
}

export interface FenceOptions {
  readonly slug: ChainSlug;
  readonly wallet: Address;
  readonly store: RelayStore;
  readonly settings: Pick<LaneWaits, 'patienceMs'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Whether a lane can send, by what it meets. */
export function createFence({ slug, wallet, store, settings, clock, log }: FenceOptions): LaneFence {
  const met = new Map<FenceCause, ToldFence>();
  let adopted: Fence | null = null;
  /** Undefined: whatever stands there was told by somebody else. */
  let told: ToldFence | null | undefined;
  let toldAt = 0;
  const { patienceMs } = settings;
  const patience: Readonly<Record<FenceCause, number>> = {
    fees: 0,
    funds: 0,
    key: patienceMs,
    node: patienceMs,
    nonce: patienceMs,
    stuck: 0,
  };

  /** The first that is believed, in the order of how much it explains. */
  function believed(): ToldFence | null {
    for (const cause of FENCE_CAUSES) {
      const fence = met.get(cause);
      if (fence && clock.now() - fence.since >= patience[cause]) return fence;
    }
    return null;
  }

  function announce(fence: ToldFence | null): void {
    if (fence !== null && told?.since !== fence.since) log.error('relay.fenced', { wallet, ...fence });
    if (fence === null && told) log.info('relay.healed', { wallet, reason: told.reason, ms: clock.now() - told.since });
  }

  return {
    meet(cause, reason, since = clock.now()) {
      met.set(cause, { cause, reason, since: met.get(cause)?.since ?? since });
    },
    clear: (cause) => void met.delete(cause),
    has: (cause) => met.has(cause),
    now: () => adopted ?? believed(),
    trouble: () => adopted?.reason ?? [...met.values()].at(-1)?.reason ?? null,
    async save() {
      const fence = believed();
      const isNew = told === undefined || told?.since !== fence?.since || told?.reason !== fence?.reason;
      if (!isNew && clock.now() - toldAt < AGAIN_MS) return;
      await store.fenceLane(slug, wallet, fence);
      if (isNew) announce(fence);
      [told, toldAt] = [fence, clock.now()];
    },
    adopt({ since, reason }) {
      met.clear();
      adopted = since === null ? null : { since, reason: reason ?? 'it cannot send' };
    },
    forget() {
      adopted = null;
      told = undefined;
    },
  };
}
