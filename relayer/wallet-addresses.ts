import type { RelayerConfig } from '../core/config/relayer.js';
import { createWallet } from './wallet.js';

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
