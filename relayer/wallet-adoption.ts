import type { ChainSlug } from '../core/chains/chains.js';
import { adoptCommand } from '../core/observability/lost-commits.js';
import { within, type Clock } from '../core/ports/clock.js';
import type { Logger } from '../core/ports/log.js';
import type { RelayNode, SentHistory, WaitingWallet, WalletAdoption } from '../core/ports/relayer.js';
import type { RelayStore } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';
import { findTransactions, SEARCH_LIMITS } from './find-transactions.js';
import { isTradingCall } from './match-transactions.js';

export interface WalletAdoptionOptions {
  readonly slug: ChainSlug;
  readonly wallets: readonly Address[];
  readonly store: Pick<RelayStore, 'knownLanes' | 'beginLane'>;
  readonly node: Pick<RelayNode, 'account'>;
  readonly history: Pick<SentHistory, 'head' | 'countAt' | 'ofWallet' | 'inBlocks'>;
  readonly diamond: Address;
  /** In a sandbox every wallet is: its chain may be older than its database. */
  readonly adoptsAll: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

const AGAIN_MS = 5_000;
/** A node that does not answer holds the start up no longer than this; its wallets wait until it does. */
const FIRST_MS = 5_000;

/** A wallet is used if the database has sent for it or for others, or if it has never traded. */
export function createWalletAdoption(options: WalletAdoptionOptions): WalletAdoption {
  const { slug, wallets, store, node, adoptsAll, clock, log } = options;
  /** Null before the first answer of the database. */
  let waiting: readonly WaitingWallet[] | null = adoptsAll ? [] : null;
  let checking: Promise<void> | null = null;
  let stopChecking = (): void => undefined;
  const tasks = new Set<() => void>();
  const isSettled = (): boolean => waiting?.length === 0;

  function become(next: readonly WaitingWallet[]): void {
    for (const { wallet, reason } of next)
      if (waiting?.some((known) => known.wallet === wallet && known.reason === reason) !== true)
        log.error('relay.wallet-unknown', { wallet, reason, command: adoptCommand(slug, wallet) });
    waiting = next;
    if (!isSettled()) return;
    stopChecking();
    for (const task of [...tasks]) task();
    tasks.clear();
  }

  async function look(): Promise<void> {
    try {
      const { lanes, isEmpty } = await store.knownLanes(slug);
      const unknown = isEmpty ? wallets.filter((wallet) => !lanes.includes(wallet)) : [];
      const found = await Promise.all(unknown.map(async (wallet) => ({ wallet, reason: await doubtOf(wallet) })));
      become(found.flatMap(({ wallet, reason }) => (reason === null ? [] : [{ wallet, reason }])));
    } catch (error) {
      log.warn('relay.wallets-not-checked', { error });
    }
  }

  /** Why the wallet may belong to another database; null if it does not. */
  async function doubtOf(wallet: Address): Promise<string | null> {
    try {
      const { nonce } = await node.account(wallet);
      const traded = nonce === 0 ? false : await hasTraded(options, wallet, nonce);
      if (traded === null) return `it has sent ${nonce} transactions, of which it is not known whether they were orders`;
      return traded ? `it has sent ${nonce} transactions, orders among them` : null;
    } catch (error) {
      log.warn('relay.wallet-not-read', { wallet, error });
      return 'no node says whether it has sent orders';
    }
  }

  const check = (): Promise<void> => (checking ??= look().finally(() => (checking = null)));

  return {
    async check() {
      if (isSettled()) return;
      await within(clock, FIRST_MS, () => check());
      if (!isSettled()) stopChecking = clock.every(AGAIN_MS, () => void check());
    },
    isSettled,
    waiting: () => waiting ?? [],
    async adopt(wallet) {
      const { nonce } = await node.account(wallet);
      await store.beginLane(slug, wallet, nonce);
      log.warn('relay.wallet-adopted', { wallet, nonce });
      become((waiting ?? []).filter((one) => one.wallet !== wallet));
    },
    whenSettled(task) {
      if (isSettled()) task();
      else tasks.add(task);
      return () => {
        tasks.delete(task);
        stopChecking();
      };
    },
  };
}

/** Of a wallet that sends orders nearly every transaction is one. */
const NEWEST = 20;

/** Whether one of the newest transactions of the wallet is an order; null if that cannot be found out, as without the state of earlier blocks. */
export async function hasTraded(
  { history, diamond }: Pick<WalletAdoptionOptions, 'history' | 'diamond'>,
  wallet: Address,
  count: number,
): Promise<boolean | null> {
  const nonces = Array.from({ length: Math.min(count, NEWEST) }, (_, at) => count - 1 - at);
  const search = { wallet, nonces, after: 0n, head: await history.head(), indexed: [] };
  const { transactions, unexplained } = await findTransactions(history, search, { ...SEARCH_LIMITS, blocks: 0 });
  if (transactions.some((sent) => isTradingCall(sent, { wallet, diamond }))) return true;
  return unexplained.length > 0 || count > NEWEST ? null : false;
}
