import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { Address, Cancel } from '../core/types.js';
import { walletModeOf, type RelaySwitch, type SwitchStore, type WalletMode } from '../core/ports/stores/switches.js';

/** A cached copy of a chain's switches, so that reading them needs no database query. */
export interface WalletModes {
  of(wallet: Address): WalletMode;
  /** Resolves when the switches are loaded: before that nothing may be signed. */
  start(): Promise<void>;
  refresh(): Promise<void>;
  stop(): void;
}

/** How long another replica's change may go unnoticed. */
const LOOK_MS = 1_000;

export interface BoardOptions {
  /** Null: there are no switches, and every wallet runs. */
  readonly store: SwitchStore | null;
  readonly slug: ChainSlug;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createWalletModes({ store, slug, clock, log }: BoardOptions): WalletModes {
  const stopping = new AbortController();
  let switches: readonly RelaySwitch[] = [];
  let asked = 0;
  let answered = 0;
  const isKnown = (): boolean => answered > 0;
  let stopLooking: Cancel = () => undefined;

  /** Replies may arrive out of order; the one to the latest query counts. */
  async function refresh(): Promise<void> {
    const question = (asked += 1);
    const read = (await store?.all(slug)) ?? [];
    if (question < answered) return;
    answered = question;
    switches = read;
  }

  async function start(): Promise<void> {
    while (!isKnown() && !stopping.signal.aborted) {
      await refresh().catch((error: unknown) => log.warn('relay.switches-unknown', { error }));
      if (!isKnown()) await clock.sleep(LOOK_MS, stopping.signal);
    }
    if (store === null || stopping.signal.aborted) return;
    stopLooking = clock.every(LOOK_MS, () => {
      refresh().catch((error: unknown) => log.warn('relay.switches-unknown', { error }));
    });
  }

  return {
    of: (wallet) => walletModeOf(switches, wallet),
    start,
    refresh,
    stop() {
      stopping.abort();
      stopLooking();
    },
  };
}
