import type { ChainSlug } from '../core/chains/chains.js';
import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import type { RelayStore } from '../core/ports/stores/relay.js';
import type { SwitchStore, WalletMode } from '../core/ports/stores/switches.js';

export interface AssignmentOptions {
  readonly slug: ChainSlug;
  readonly addresses: readonly Address[];
  readonly store: Pick<RelayStore, 'walletOf' | 'assignWallet' | 'lease'>;
  readonly moves: Pick<SwitchStore, 'moveTrader'> | null;
  readonly walletMode: (wallet: Address) => WalletMode;
  /** The trader's delegate on chain: a trader that has delegated to one of our wallets keeps it. */
  readonly delegateOf: (trader: Address) => Promise<Address | null>;
  readonly clock: Clock;
}

/** A trader of a retiring wallet may delegate to another one at any moment; the chain is asked at most this often. */
const DELEGATE_AGE_MS = 2_000;
const MOST_REMEMBERED = 10_000;
/** A trader's wallet changes only after the wallet began to retire, which is noticed sooner than this. */
const WALLET_AGE_MS = 2_000;

/** Assigns a wallet to a trader. It stays until the wallet is removed, or retires and the trader has delegated to another. */
export function createAssignment(options: AssignmentOptions): (trader: Address, known?: Address | null) => Promise<Address> {
  const { slug, addresses, store, moves, walletMode, delegateOf, clock } = options;
  const delegates = new Map<Address, { readonly at: number; readonly delegate: Promise<Address | null> }>();

  function recentDelegate(trader: Address): Promise<Address | null> {
    const known = delegates.get(trader);
    if (known && clock.now() - known.at < DELEGATE_AGE_MS) return known.delegate;
    if (delegates.size >= MOST_REMEMBERED) delegates.clear();
    const delegate = delegateOf(trader);
    delegates.set(trader, { at: clock.now(), delegate });
    delegate.catch(() => delegates.delete(trader));
    return delegate;
  }

  const settled = new Map<Address, { readonly at: number; readonly wallet: Address }>();

  /** Cached, because bots send many orders a second. */
  function recentWallet(trader: Address): Address | null {
    const known = settled.get(trader);
    return known && clock.now() - known.at < WALLET_AGE_MS && isWelcoming(known.wallet) ? known.wallet : null;
  }

  function settle(trader: Address, wallet: Address): Address {
    if (settled.size >= MOST_REMEMBERED) settled.clear();
    settled.set(trader, { at: clock.now(), wallet });
    return wallet;
  }

  const isWelcoming = (address: Address): boolean => !walletMode(address).isRetiring;

  /** Every replica chooses the same wallet for a trader; wallets that stay are preferred to retiring ones. */
  function choose(trader: Address, delegate: Address | null): Address {
    const staying = addresses.filter(isWelcoming);
    const open = staying.filter((address) => walletMode(address).mode === 'running');
    const [choice = addresses] = [open, staying].filter(({ length }) => length > 0);
    const chosen = choice.find((address) => address === delegate) ?? choice[Number(BigInt(trader) % BigInt(choice.length || 1))];
    if (chosen === undefined) throw new Error('The relayer has no wallet.');
    return chosen;
  }

  async function leave(trader: Address, wallet: Address): Promise<Address> {
    // While no node answers, the trader keeps its wallet.
    const delegate = await recentDelegate(trader).catch(() => wallet);
    if (moves === null || delegate === wallet) return wallet;
    const to = choose(trader, delegate);
    return to === wallet ? wallet : moves.moveTrader(slug, trader, wallet, to);
  }

  /** True if a replica with other settings still runs the lane and so holds its lease, for example during a rolling update. */
  async function isServed(wallet: Address): Promise<boolean> {
    const lease = await store.lease(slug, wallet);
    await lease?.release();
    return lease === null;
  }

  return async (trader, given) => {
    const recent = recentWallet(trader);
    if (recent !== null) return recent;
    const known = given === undefined ? await store.walletOf(slug, trader) : given;
    if (known !== null && addresses.includes(known)) return isWelcoming(known) ? settle(trader, known) : leave(trader, known);
    if (known !== null && (await isServed(known))) return known;
    const delegate = await delegateOf(trader);
    const ours = addresses.find((address) => address === delegate) ?? choose(trader, delegate);
    // A wallet whose key was removed cannot send.
    if (known !== null && moves !== null) return moves.moveTrader(slug, trader, known, ours);
    return store.assignWallet(slug, trader, ours);
  };
}
