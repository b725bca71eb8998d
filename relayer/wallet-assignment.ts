import type { ChainSlug } from '../core/chains/chains.js';
import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import type { RelayStore } from '../core/ports/stores/relay.js';
import type { SwitchStore, WalletStanding } from '../core/ports/stores/switches.js';

export interface AssignmentOptions {
  readonly slug: ChainSlug;
  readonly addresses: readonly Address[];
  readonly store: Pick<RelayStore, 'walletOf' | 'assignWallet' | 'lease'>;
  readonly moves: Pick<SwitchStore, 'moveTrader'> | null;
  readonly standing: (wallet: Address) => WalletStanding;
  /** The trader's delegate on chain: who has delegated to one of ours already keeps it. */
  readonly delegateOf: (trader: Address) => Promise<Address | null>;
  readonly clock: Clock;
}

/** A trader of a wallet that retires may delegate to another one at any moment; asked for this often at most. */
const DELEGATE_AGE_MS = 2_000;
const MOST_REMEMBERED = 10_000;
/** A trader's wallet changes only after it began to retire, which is seen sooner than this. */
const WALLET_AGE_MS = 2_000;

/** Which wallet serves a trader. Once assigned it stays, until the wallet is gone, or retires and the trader has left it. */
export function createAssignment(options: AssignmentOptions): (trader: Address, known?: Address | null) => Promise<Address> {
  const { slug, addresses, store, moves, standing, delegateOf, clock } = options;
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

  /** Bots send many orders a second: their wallet is not asked for with each of them. */
  function recentWallet(trader: Address): Address | null {
    const known = settled.get(trader);
    return known && clock.now() - known.at < WALLET_AGE_MS && isWelcoming(known.wallet) ? known.wallet : null;
  }

  function settle(trader: Address, wallet: Address): Address {
    if (settled.size >= MOST_REMEMBERED) settled.clear();
    settled.set(trader, { at: clock.now(), wallet });
    return wallet;
  }

  const isWelcoming = (address: Address): boolean => !standing(address).isRetiring;

  /** The same wallet for the same trader, whoever asks first; those that stay before those that go. */
  function choose(trader: Address, delegate: Address | null): Address {
    const staying = addresses.filter(isWelcoming);
    const open = staying.filter((address) => standing(address).mode === 'running');
    const [choice = addresses] = [open, staying].filter(({ length }) => length > 0);
    const chosen = choice.find((address) => address === delegate) ?? choice[Number(BigInt(trader) % BigInt(choice.length || 1))];
    if (chosen === undefined) throw new Error('The relayer has no wallet.');
    return chosen;
  }

  async function leave(trader: Address, wallet: Address): Promise<Address> {
    // While no node answers, everything stays as it is.
    const delegate = await recentDelegate(trader).catch(() => wallet);
    if (moves === null || delegate === wallet) return wallet;
    const to = choose(trader, delegate);
    return to === wallet ? wallet : moves.moveTrader(slug, trader, wallet, to);
  }

  /** By a replica with other settings, for example while they are exchanged one by one: whoever runs the lane holds its lease. */
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
    // A wallet whose key is not here any more serves nobody.
    if (known !== null && moves !== null) return moves.moveTrader(slug, trader, known, ours);
    return store.assignWallet(slug, trader, ours);
  };
}
