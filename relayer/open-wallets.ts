import { isDemoKey, type Keystore } from '../core/config/relayer-keys.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { RelayerConfig } from '../core/config/relayer.js';
import { createExternalWallets } from './external-signer.js';
import { createWallet, type SigningCurve, type Wallet } from './wallet.js';
import type { Hex } from '../core/types.js';

export interface OpenedWallets {
  /** Plain keys first, then keystores, then the external signer's. */
  readonly wallets: readonly Wallet[];
  /** What is wrong with the keys, without any secret. */
  readonly problems: readonly string[];
}

/** The one place where a key becomes a wallet. */
export async function openWallets(
  { keys, keystores = [], signer = null }: RelayerConfig,
  { clock, log, curve = null }: { readonly clock: Clock; readonly log: Logger; readonly curve?: SigningCurve | null },
): Promise<OpenedWallets> {
  const opened = await Promise.all(keystores.map(async (keystore) => ({ name: keystore.name, key: await openKeystore(keystore) })));
  const problems = opened.flatMap(({ name, key }) => {
    if (key === null) return [`${name} is not opened by its password`];
    return isDemoKey(key) ? [`${name} has a key of the sandbox, which is published`] : [];
  });
  const own = [...keys(), ...opened.flatMap(({ key }) => key ?? [])].map((key) => createWallet(key, curve));
  const wallets = [...own, ...(signer === null ? [] : createExternalWallets(signer, { clock, log }))];
  const addresses = wallets.map(({ address }) => address);
  const twice = addresses.filter((address, at) => addresses.indexOf(address) !== at);
  return { wallets, problems: [...problems, ...twice.map((address) => `the relayer's wallet ${address} is configured twice`)] };
}

/**
 * The key of an encrypted keystore; null if the password does not open it. The cause is never passed on: a library's error message
 * may quote the password.
 */
async function openKeystore({ json, password }: Keystore): Promise<Hex | null> {
  // Imported lazily, because it is large and only needed for keystores.
  const { decryptKeystoreJson } = await import('ethers');
  try {
    const { privateKey } = await decryptKeystoreJson(json(), password());
    return privateKey.toLowerCase() as Hex;
  } catch {
    return null;
  }
}

/** The addresses of the configured wallets, as far as they are known without decryption: a keystore need not name its address. */
export const walletAddresses = ({ keys, keystores = [], signer = null }: RelayerConfig): string[] => [
  ...keys().map((key) => createWallet(key).address),
  ...keystores.map(({ json }) => namedIn(json()) ?? 'a keystore that does not name its address'),
  ...(signer?.wallets ?? []),
];

/** The keystore's `address`, with or without 0x. */
function namedIn(json: string): string | null {
  const { address } = JSON.parse(json) as { readonly address?: unknown };
  const found = typeof address === 'string' ? /^(?:0x)?([0-9a-f]{40})$/i.exec(address)?.[1] : undefined;
  return found === undefined ? null : `0x${found.toLowerCase()}`;
}
