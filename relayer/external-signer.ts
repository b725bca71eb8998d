import { z } from 'zod';
import { keccak256, numberToHex, parseTransaction, recoverAddress, serializeTransaction } from 'viem/utils';
import type { Logger } from '../core/ports/log.js';
import { within, type Clock } from '../core/ports/clock.js';
import type { Address, Hex } from '../core/types.js';
import type { SignerConfig } from '../core/config/relayer-keys.js';
import type { Unsigned, Wallet } from './wallet.js';
import type { Attempt } from '../core/ports/stores/relay.js';

/** The signer did not sign. The message says what happened, and never contains what was sent to the signer or returned by it. */
export class SignerError extends Error {
  override readonly name = 'SignerError';
}

interface Parts {
  readonly clock: Clock;
  readonly log: Logger;
}

const PATIENCE_MS = 5_000;
/** After a failure the signer is not called for a moment: otherwise every waiting job would wait for its own time-out. */
const REST_MS = 1_000;
const MAX_ANSWER = 64_000;

const Word = z.string().regex(/^0x[0-9a-fA-F]{64}$/);
const Signature = z.union([
  z.object({ signature: z.object({ r: Word, s: Word, yParity: z.union([z.literal(0), z.literal(1)]).optional() }) }),
  z.object({ raw: z.string().regex(/^0x(?:[0-9a-fA-F]{2})+$/) }),
]);
const Addresses = z.object({ addresses: z.array(z.string()).max(1_000) });

/** Wallets whose keys an external signer holds. A returned signature counts only if it is this wallet's, over exactly the requested bytes. */
export function createExternalWallets(signer: SignerConfig, { clock, log }: Parts): readonly Wallet[] {
  let resting: { readonly until: number; readonly why: string } | null = null;

  async function ask(path: string, body: unknown): Promise<unknown> {
    if (resting !== null && clock.now() < resting.until) throw new SignerError(resting.why);
    try {
      const answer = await within(clock, PATIENCE_MS, (signal) => call(signer, path, body, signal));
      resting = null;
      return answer;
    } catch (error) {
      const why = error instanceof SignerError ? error.message : 'the external signer does not answer';
      if (!(error instanceof Refused)) resting = { until: clock.now() + REST_MS, why };
      throw new SignerError(why);
    }
  }

  async function sign(address: Address, transaction: Unsigned): ReturnType<Wallet['sign']> {
    const answer = Signature.safeParse(await ask('/sign', requestFor(address, transaction)));
    if (!answer.success) throw new SignerError('the external signer answered something that is no signature');
    const signed = await signedBy(address, transaction, answer.data as ForeignSignature);
    if (signed === null) throw new SignerError('the external signer answered a signature that is not this wallet under this transaction');
    return signed;
  }

  /** Finds a wrong address at start instead of with the first order. */
  async function check(): Promise<void> {
    const listed = Addresses.safeParse(await ask('/addresses', null));
    const known = new Set((listed.success ? listed.data.addresses : []).map((address) => address.toLowerCase()));
    const missing = signer.wallets.filter((wallet) => !known.has(wallet));
    if (missing.length > 0) log.error('relay.signer-lacks-wallets', { wallets: missing });
  }

  check().catch((error: unknown) => log.error('relay.signer-trouble', { error }));
  return signer.wallets.map((address) => ({ address, sign: (transaction) => sign(address, transaction) }));
}

/** The signer refused this transaction; it may sign the next one. */
class Refused extends SignerError {}

async function call({ url, token }: SignerConfig, path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(`${url()}${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: { Accept: 'application/json', 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token()}` }) },
    body: body === null ? null : JSON.stringify(body),
    // The token must not be sent to another address.
    redirect: 'error',
    signal,
  });
  const text = await readAtMost(response);
  if (response.status >= 500) throw new SignerError(`the external signer answered ${response.status}`);
  if (response.status !== 200) throw new Refused(`the external signer refused with ${response.status}`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new SignerError('the external signer answered something that is no JSON');
  }
}

async function readAtMost({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_ANSWER) throw new SignerError('the external signer answered too much');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** All fields, so that the signer can check the transaction itself; `digest` is the signed hash, `unsigned` the bytes it is of. */
function requestFor(address: Address, transaction: Unsigned): object {
  const { chainId, nonce, to, data, gas, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  const amounts = { gas: `${gas}`, maxFeePerGas: `${maxFeePerGas}`, maxPriorityFeePerGas: `${maxPriorityFeePerGas}` };
  return {
    address,
    chainId,
    ...unsignedBytes(transaction),
    transaction: { type: 'eip1559', chainId, nonce, to, value: '0', data, ...amounts },
  };
}

/** What a signer may return: the signature, with or without its parity, or the whole transaction. */
type ForeignSignature =
  { readonly signature: { readonly r: Hex; readonly s: Hex; readonly yParity?: 0 | 1 | undefined } } | { readonly raw: Hex };

/** The order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const WORD = 32;

const complete = (transaction: Unsigned) => ({ ...transaction, type: 'eip1559', value: 0n }) as const;

function unsignedBytes(transaction: Unsigned): { readonly unsigned: Hex; readonly digest: Hex } {
  const unsigned = serializeTransaction(complete(transaction));
  return { unsigned, digest: keccak256(unsigned) };
}

/** The requested transaction with this signature if the wallet made it; null for anything else, even if valid. */
async function signedBy(address: Address, transaction: Unsigned, answer: ForeignSignature): Promise<Pick<Attempt, 'hash' | 'raw'> | null> {
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

type SignatureParts = Extract<ForeignSignature, { signature: unknown }>['signature'];

function signatureIn(raw: Hex): SignatureParts | null {
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
function candidatesOf({ r, s, yParity }: SignatureParts): { r: Hex; s: Hex; yParity: 0 | 1 }[] {
  const isHigh = BigInt(s) > ORDER / 2n;
  if (BigInt(s) >= ORDER) return [];
  const low = isHigh ? padded(ORDER - BigInt(s)) : s;
  const parities = yParity === undefined ? ([0, 1] as const) : ([isHigh ? other(yParity) : yParity] as const);
  return parities.map((parity) => ({ r, s: low, yParity: parity }));
}

const other = (parity: 0 | 1): 0 | 1 => (parity === 0 ? 1 : 0);
