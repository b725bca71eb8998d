import { keccak256, numberToHex, parseTransaction, recoverAddress, serializeTransaction } from 'viem/utils';
import type { Address, Hex } from '../core/types.js';
import type { Attempt } from '../core/ports/stores/relay.js';
import type { Unsigned } from './wallet.js';

/** What a signer may return: the signature, with or without its parity, or the whole transaction. */
export type ForeignSignature =
  { readonly signature: { readonly r: Hex; readonly s: Hex; readonly yParity?: 0 | 1 | undefined } } | { readonly raw: Hex };

/** The order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const WORD = 32;

const complete = (transaction: Unsigned) => ({ ...transaction, type: 'eip1559', value: 0n }) as const;

export function unsignedBytes(transaction: Unsigned): { readonly unsigned: Hex; readonly digest: Hex } {
  const unsigned = serializeTransaction(complete(transaction));
  return { unsigned, digest: keccak256(unsigned) };
}

/** The requested transaction with this signature if the wallet made it; null for anything else, even if valid. */
export async function signedBy(
  address: Address,
  transaction: Unsigned,
  answer: ForeignSignature,
): Promise<Pick<Attempt, 'hash' | 'raw'> | null> {
  const signature = 'raw' in answer ? signatureIn(answer.raw) : answer.signature;
  if (signature === null) return null;
  const { digest } = unsignedBytes(transaction);
  for (const candidate of candidatesOf(signature)) {
    const recovered = await recoverAddress({ hash: digest, signature: candidate }).catch(() => null);
    if (recovered?.toLowerCase() !== address) continue;
    const raw = serializeTransaction(complete(transaction), candidate);
    // A returned transaction must equal the requested one byte for byte: it might cost more, or have another recipient.
    return 'raw' in answer && answer.raw.toLowerCase() !== raw ? null : { raw, hash: keccak256(raw) };
  }
  return null;
}

type Signature = Extract<ForeignSignature, { signature: unknown }>['signature'];

function signatureIn(raw: Hex): Signature | null {
  try {
    const { r, s, yParity } = parseTransaction(raw);
    if (r === undefined || s === undefined || (yParity !== 0 && yParity !== 1)) return null;
    return { r: padded(BigInt(r)), s: padded(BigInt(s)), yParity };
  } catch {
    return null;
  }
}

const padded = (value: bigint): Hex => numberToHex(value, { size: WORD });

/** Hardware signers return no parity and may return either of the two equivalent `s` values; chains accept only the lower one. */
function candidatesOf({ r, s, yParity }: Signature): { r: Hex; s: Hex; yParity: 0 | 1 }[] {
  const isHigh = BigInt(s) > ORDER / 2n;
  if (BigInt(s) >= ORDER) return [];
  const low = isHigh ? padded(ORDER - BigInt(s)) : s;
  const parities = yParity === undefined ? ([0, 1] as const) : ([isHigh ? other(yParity) : yParity] as const);
  return parities.map((parity) => ({ r, s: low, yParity: parity }));
}

const other = (parity: 0 | 1): 0 | 1 => (parity === 0 ? 1 : 0);
