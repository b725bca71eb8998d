import { isDemoKey } from '../core/config/relayer-keys.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { RelayerConfig } from '../core/config/relayer.js';
import { createExternalWallets } from './external-signer.js';
import { openKeystore } from './keystore.js';
import { createWallet, type SigningCurve, type Wallet } from './wallet.js';

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
