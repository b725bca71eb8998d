import type { Keccak } from '../../access/signature.js';
import type { Address } from '../../types.js';

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The address of an uncompressed public key (65 bytes), in lower case. */
export function publicKeyAddress(keccak: Keccak, publicKey: Uint8Array): Address {
  const hash = keccak(publicKey.subarray(1));
  let address: Address = '0x';
  for (let index = 12; index < 32; index += 1) address = `${address}${HEX[hash[index] ?? 0] ?? ''}`;
  return address;
}
