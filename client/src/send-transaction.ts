import { hexToBigInt, hexToNumber, keccak256, numberToHex } from 'viem/utils';
import type { Hex, PreparedTransaction } from './api.js';
import type { Signer } from './agent.js';
import type { ChainFacts } from './chains.js';
import { ChainError, VerificationError } from './errors.js';
import type { Rpc } from './rpc.js';

/** What a transaction may cost. */
export interface FeeLimits {
  /** Wei per gas; the chain's usual bound when absent. */
  readonly maxFeePerGas?: bigint | undefined;
  /** Wei in all: gas limit × fee per gas. */
  readonly maxFee?: bigint | undefined;
}

export interface Sender {
  /** Signs and broadcasts; answers the hash. Transactions of one client go out one after the other. */
  send(transaction: PreparedTransaction, announce?: (hash: Hex) => Promise<unknown>): Promise<Hex>;
  /** True once it is mined and succeeded, null while it is not mined. Throws when it was reverted. */
  isMined(hash: Hex): Promise<true | null>;
  /** Whether this client signed it and another transaction was mined with its nonce: then it can never be mined. */
  isReplaced(hash: Hex): Promise<boolean>;
}

const GWEI = 1_000_000_000n;
/** For this long a nonce that was used counts although the node may not know it yet: many nodes may answer behind one address. */
const NONCE_MEMORY_MS = 10_000;
/** A gas limit far above the node's own estimate is refused: at worst all of it would be paid. */
const MAX_GAS_FACTOR = 4n;
/** The oldest is forgotten first. */
const MOST_NONCES = 5_000;

const quantity = (value: unknown, what: string): bigint => {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value)) return hexToBigInt(value as Hex);
  throw new ChainError(`the node answered no number for ${what}`);
};

export function createSender(rpc: Rpc, signer: Signer, chain: ChainFacts, limits: FeeLimits): Sender {
  let last: { readonly nonce: number; readonly at: number } | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  /** Signed, but the node did not say that it has it. By the call data: it is sent again as it is, never signed anew, so it is mined once at most. */
  const doubtful = new Map<Hex, { readonly raw: Hex; readonly nonce: number }>();

  const nonces = new Map<Hex, number>();

  const nextNonce = async (): Promise<number> => {
    const pending = hexToNumber(numberToHex(quantity(await rpc('eth_getTransactionCount', [signer.address, 'pending']), 'the nonce')));
    const isRecent = last !== null && Date.now() - last.at < NONCE_MEMORY_MS;
    return isRecent && last !== null ? Math.max(pending, last.nonce + 1) : pending;
  };

  const fees = async (): Promise<{ readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }> => {
    const [block, proposed] = await Promise.all([
      rpc('eth_getBlockByNumber', ['latest', false]),
      rpc('eth_maxPriorityFeePerGas', []).catch(() => '0x0'),
    ]);
    const base = quantity((block as { readonly baseFeePerGas?: unknown } | null)?.baseFeePerGas, 'the base fee');
    const most = limits.maxFeePerGas ?? BigInt(chain.maxFeeGwei) * GWEI;
    const tip = smaller(quantity(proposed, 'the tip'), BigInt(chain.maxTipGwei) * GWEI);
    if (base + tip > most)
      throw new VerificationError('FEE', 'a unit of gas costs more than allowed, in wei', `at most ${most}`, String(base + tip));
    // Twice the base fee stays valid for some blocks of rising fees.
    return { maxFeePerGas: smaller(2n * base + tip, most), maxPriorityFeePerGas: tip };
  };

  const gasFor = async ({ to, data, gas }: PreparedTransaction): Promise<bigint> => {
    const estimate = quantity(await rpc('eth_estimateGas', [{ from: signer.address, to, data }]), 'the gas');
    if (gas === null) return (estimate * 12n) / 10n;
    if (BigInt(gas) < estimate) throw new VerificationError('GAS', 'the transaction would run out of gas', `at least ${estimate}`, gas);
    if (BigInt(gas) > estimate * MAX_GAS_FACTOR)
      throw new VerificationError('GAS', 'the gas limit is far above what the transaction needs', `about ${estimate}`, gas);
    return BigInt(gas);
  };

  const isReplaced: Sender['isReplaced'] = async (hash) => {
    const nonce = nonces.get(hash);
    if (nonce === undefined) return false;
    const used = quantity(await rpc('eth_getTransactionCount', [signer.address, 'latest']), 'the nonce');
    // The receipt is asked for last: its own nonce may be the one that was used.
    return used > BigInt(nonce) && (await rpc('eth_getTransactionReceipt', [hash])) == null;
  };

  /** Null once it can never be mined. */
  const stillDoubtful = async (data: Hex): Promise<Hex | null> => {
    const before = doubtful.get(data);
    return before === undefined || (await isReplaced(keccak256(before.raw))) ? null : before.raw;
  };

  const broadcast = async (raw: Hex): Promise<Hex> => {
    const hash = keccak256(raw);
    await rpc('eth_sendRawTransaction', [raw]).catch(async (error: unknown) => {
      // A lost answer is no refusal: the node may have it all the same.
      if ((await rpc('eth_getTransactionByHash', [hash]).catch(() => null)) != null) return;
      const said = error instanceof Error ? error.message : String(error);
      throw new ChainError(
        `${said}. The transaction ${hash} may be on its way: send the same prepared one again, do not prepare another.`,
        { cause: error },
      );
    });
    return hash;
  };

  const sendNow = async (transaction: PreparedTransaction, announce?: (hash: Hex) => Promise<unknown>): Promise<Hex> => {
    const raw = (await stillDoubtful(transaction.data)) ?? (await signNow(transaction));
    await announce?.(keccak256(raw));
    const hash = await broadcast(raw);
    last = { nonce: doubtful.get(transaction.data)?.nonce ?? 0, at: Date.now() };
    doubtful.delete(transaction.data);
    return hash;
  };

  const signNow = async (transaction: PreparedTransaction): Promise<Hex> => {
    const [nonce, { maxFeePerGas, maxPriorityFeePerGas }, gas] = await Promise.all([nextNonce(), fees(), gasFor(transaction)]);
    if (limits.maxFee !== undefined && gas * maxFeePerGas > limits.maxFee)
      throw new VerificationError(
        'FEE',
        'the transaction may cost more than allowed, in wei',
        `at most ${limits.maxFee}`,
        String(gas * maxFeePerGas),
      );
    const raw = await signer.signTransaction({
      type: 'eip1559',
      chainId: chain.chainId,
      to: transaction.to,
      data: transaction.data,
      value: 0n,
      gas,
      nonce,
      maxFeePerGas,
      maxPriorityFeePerGas,
    });
    doubtful.set(transaction.data, { raw, nonce });
    nonces.set(keccak256(raw), nonce);
    const [oldest] = nonces.keys();
    if (nonces.size > MOST_NONCES && oldest !== undefined) nonces.delete(oldest);
    return raw;
  };

  return {
    isReplaced,
    send(transaction, announce) {
      const sent = turn.then(() => sendNow(transaction, announce));
      turn = sent.catch(() => undefined);
      return sent;
    },
    async isMined(hash) {
      const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as { readonly status?: unknown } | null;
      if (receipt === null) return null;
      if (quantity(receipt.status, 'the receipt') === 1n) return true;
      throw new ChainError(`the transaction ${hash} was reverted`);
    },
  };
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
