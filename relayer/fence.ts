import type { ChainSlug } from '../core/chains.js';
import type { Address, Clock, Logger } from '../core/ports.js';
import type { Fence, LaneHealth } from '../core/relay/relayer.js';
import type { RelayStore } from '../core/relay/relay-store.js';
import type { LaneWaits } from '../core/relay/lane-waits.js';

/** What can keep a lane from sending. Each is cleared by what disproves it, not by another one's end. */
export const TROUBLES = ['fees', 'funds', 'key', 'node', 'stuck'] as const;
export type Trouble = (typeof TROUBLES)[number];

export interface LaneFence {
  /** `since` is when it began, where that is known to be earlier. */
  meet(trouble: Trouble, reason: string, since?: number): void;
  clear(trouble: Trouble): void;
  has(trouble: Trouble): boolean;
  /** Null while the lane may send. */
  now(): Fence | null;
  /** The newest trouble, believed or not. */
  trouble(): string | null;
  /** Tells all replicas, when there is something new to tell. */
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
  const met = new Map<Trouble, Fence>();
  let adopted: Fence | null = null;
  /** Undefined: whatever stands there was told by somebody else. */
  let told: Fence | null | undefined;
  const { patienceMs } = settings;
  const patience: Readonly<Record<Trouble, number>> = { fees: 0, funds: 0, key: patienceMs, node: patienceMs, stuck: 0 };

  /** The first that is believed, in the order of how much it explains. */
  function now(): Fence | null {
    if (adopted !== null) return adopted;
    for (const trouble of TROUBLES) {
      const fence = met.get(trouble);
      if (fence && clock.now() - fence.since >= patience[trouble]) return fence;
    }
    return null;
  }

  function announce(fence: Fence | null): void {
    if (fence !== null && told?.since !== fence.since) log.error('relay.fenced', { wallet, ...fence });
    if (fence === null && told) log.info('relay.healed', { wallet, reason: told.reason, ms: clock.now() - told.since });
  }

  return {
    meet(trouble, reason, since = clock.now()) {
      met.set(trouble, { reason, since: met.get(trouble)?.since ?? since });
    },
    clear: (trouble) => void met.delete(trouble),
    has: (trouble) => met.has(trouble),
    now,
    trouble: () => adopted?.reason ?? [...met.values()].at(-1)?.reason ?? null,
    async save() {
      const fence = now();
      if (told !== undefined && told?.since === fence?.since && told?.reason === fence?.reason) return;
      await store.fenceLane(slug, wallet, fence);
      announce(fence);
      told = fence;
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
