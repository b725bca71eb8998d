import { signal, type ReadonlySignal } from '@preact/signals';

/** EIP-1193, as far as the page needs it. */
export interface Provider {
  request(asked: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (value: unknown) => void): void;
  removeListener?(event: string, listener: (value: unknown) => void): void;
}

export interface FoundWallet {
  readonly id: string;
  readonly name: string;
  /** A data URI; nothing else is loaded. */
  readonly icon: string | null;
  readonly provider: Provider;
  /** What the sandbox offers: its keys are public, or made in this tab. */
  readonly demo: { readonly note: string } | null;
}

interface Announcement {
  readonly info?: { readonly uuid?: unknown; readonly name?: unknown; readonly icon?: unknown };
  readonly provider?: Provider;
}

const LONGEST_NAME = 40;
const found = signal<readonly FoundWallet[]>([]);

/** Wallets of this browser, in the order in which they announced themselves. */
export const wallets: ReadonlySignal<readonly FoundWallet[]> = found;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** EIP-6963: every wallet answers the question with an event of its own, also one that is installed later. */
export function discoverWallets(): () => void {
  const onAnnounce = (event: Event): void => {
    const { info, provider } = (event as CustomEvent<Announcement | null>).detail ?? {};
    const id = textOf(info?.uuid);
    if (provider === undefined || id === '' || found.peek().some((wallet) => wallet.id === id)) return;
    const icon = textOf(info?.icon);
    const name = textOf(info?.name).slice(0, LONGEST_NAME) || 'Unnamed wallet';
    found.value = [...found.peek(), { id, name, icon: icon.startsWith('data:image/') ? icon : null, provider, demo: null }];
  };
  addEventListener('eip6963:announceProvider', onAnnounce);
  dispatchEvent(new Event('eip6963:requestProvider'));
  return () => removeEventListener('eip6963:announceProvider', onAnnounce);
}

interface WalletError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly data?: { readonly originalError?: { readonly code?: unknown } };
}

const USER_REFUSED = 4001;
const UNKNOWN_CHAIN = 4902;

/** Some wallets wrap the code of the error that caused theirs. */
const codesOf = (error: unknown): readonly unknown[] => {
  const { code, data } = (typeof error === 'object' && error !== null ? error : {}) as WalletError;
  return [code, data?.originalError?.code];
};

export const isWalletRefusal = (error: unknown): boolean => codesOf(error).includes(USER_REFUSED);
export const isUnknownChain = (error: unknown): boolean => codesOf(error).includes(UNKNOWN_CHAIN);
