import { signal, type ReadonlySignal } from '@preact/signals';
import type { Hex } from '@diamond-gateway/client/api';
import type { TypedData } from '@diamond-gateway/client/agent';
import type { Rpc } from '@diamond-gateway/client/rpc';
import { isUnknownChain, type FoundWallet } from './wallets.js';

/** A wallet that lets this page see an account. */
export interface Session {
  readonly wallet: FoundWallet;
  readonly address: Hex;
  /** The chain that the wallet is on. */
  readonly chainId: number;
}

const current = signal<Session | null>(null);
export const session: ReadonlySignal<Session | null> = current;
let forget: () => void = () => undefined;

const accountOf = (accounts: unknown): Hex | null => {
  const [first] = Array.isArray(accounts) ? (accounts as unknown[]) : [];
  return typeof first === 'string' && /^0x[0-9a-fA-F]{40}$/.test(first) ? (first as Hex) : null;
};
const numberOf = (hex: unknown): number => (typeof hex === 'string' || typeof hex === 'number' ? Number(hex) : Number.NaN);

/** Asks the wallet for an account; follows what the person changes there afterwards. */
export async function connect(wallet: FoundWallet): Promise<void> {
  const { provider } = wallet;
  const address = accountOf(await provider.request({ method: 'eth_requestAccounts' }));
  if (address === null) throw new Error('The wallet named no account.');
  const chainId = numberOf(await provider.request({ method: 'eth_chainId' }));
  disconnect();
  current.value = { wallet, address, chainId };
  const change = (next: Partial<Session>): void => {
    const now = current.peek();
    if (now?.wallet === wallet) current.value = { ...now, ...next };
  };
  const onAccounts = (accounts: unknown): void => {
    const next = accountOf(accounts);
    if (next === null) disconnect();
    else change({ address: next });
  };
  const onChain = (hex: unknown): void => change({ chainId: numberOf(hex) });
  provider.on?.('accountsChanged', onAccounts);
  provider.on?.('chainChanged', onChain);
  forget = () => {
    provider.removeListener?.('accountsChanged', onAccounts);
    provider.removeListener?.('chainChanged', onChain);
  };
}

/** The page forgets the wallet; the wallet decides for itself whether it forgets the page. */
export function disconnect(): void {
  forget();
  forget = () => undefined;
  current.value = null;
}

/** What a wallet has to know about a chain that it does not have yet. */
export interface ChainToAdd {
  readonly chainId: number;
  readonly name: string;
  readonly nativeSymbol: string;
  /** Null: no public address is known. */
  readonly rpcUrl: string | null;
}

export const hexOf = (value: number | bigint): Hex => `0x${value.toString(16)}`;

/** Wallets refuse to sign for another chain than theirs, so this comes first. */
export async function switchChain({ wallet: { provider } }: Session, wanted: ChainToAdd): Promise<void> {
  const params = [{ chainId: hexOf(wanted.chainId) }];
  const choose = (): Promise<unknown> => provider.request({ method: 'wallet_switchEthereumChain', params });
  try {
    await choose();
  } catch (error) {
    if (!isUnknownChain(error) || wanted.rpcUrl === null) throw error;
    await addChain(provider, wanted);
    await choose();
  }
  const chainId = numberOf(await provider.request({ method: 'eth_chainId' }));
  // Read after the wait: the account may have changed with the chain, or the wallet may be gone.
  const now = current.peek();
  if (now?.wallet.provider === provider) current.value = { ...now, chainId };
}

/** Also leads a wallet that has the chain to another node of it. */
export async function addChain(provider: FoundWallet['provider'], { chainId, name, nativeSymbol, rpcUrl }: ChainToAdd): Promise<void> {
  const nativeCurrency = { name: nativeSymbol, symbol: nativeSymbol, decimals: 18 };
  const params = [{ chainId: hexOf(chainId), chainName: name, nativeCurrency, rpcUrls: rpcUrl === null ? [] : [rpcUrl] }];
  await provider.request({ method: 'wallet_addEthereumChain', params });
}

type Guard = (session: Session) => Promise<void>;
let guard: Guard | null = null;

/** Runs before everything that is signed or sent, and refuses it by throwing. Returns the way back. */
export function guardActs(next: Guard): () => void {
  guard = next;
  return () => {
    if (guard === next) guard = null;
  };
}

/** The wallet's own node, so that what the gateway says is checked against another source. */
export const rpcOf =
  (session: Session): Rpc =>
  async (method, params) => {
    if (method === 'eth_sendRawTransaction') await guard?.(session);
    return session.wallet.provider.request({ method, params });
  };

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const;

export async function signTypedData(session: Session, data: TypedData): Promise<Hex> {
  const { wallet, address } = session;
  await guard?.(session);
  const whole = { ...data, types: { EIP712Domain: DOMAIN_FIELDS, ...data.types } };
  const signature = await wallet.provider.request({ method: 'eth_signTypedData_v4', params: [address, JSON.stringify(whole)] });
  if (typeof signature !== 'string' || !signature.startsWith('0x')) throw new Error('The wallet answered no signature.');
  return signature as Hex;
}

export interface WalletTransaction {
  readonly to: Hex;
  readonly data?: Hex;
  readonly value?: bigint;
}

export async function sendTransaction(session: Session, { to, data, value }: WalletTransaction): Promise<Hex> {
  const {
    wallet: { provider },
    address,
    chainId,
  } = session;
  await guard?.(session);
  if (numberOf(await provider.request({ method: 'eth_chainId' })) !== chainId)
    throw new Error('The wallet has changed to another chain. Nothing was sent.');
  const params = [
    {
      from: address,
      chainId: hexOf(chainId),
      to,
      ...(data === undefined ? {} : { data }),
      ...(value === undefined ? {} : { value: hexOf(value) }),
    },
  ];
  const hash = await provider.request({ method: 'eth_sendTransaction', params });
  if (typeof hash !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(hash)) throw new Error('The wallet answered no hash.');
  return hash as Hex;
}
