import { z } from 'zod';
import type { Logger } from '../core/ports/log.js';
import { within, type Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import type { SignerConfig } from '../core/config/relayer-keys.js';
import { signedBy, unsignedBytes, type ForeignSignature } from './external-signature.js';
import type { Unsigned, Wallet } from './wallet.js';

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
