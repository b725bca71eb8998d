import type { PrivateKeyAccount } from 'viem/accounts';
import type { Hex } from '../core/types.js';
import type { Rpc } from './local-client.js';

export interface Call {
  readonly to: `0x${string}`;
  readonly data?: Hex;
  readonly value?: bigint;
}

export interface Sender {
  readonly address: `0x${string}`;
  send(call: Call): Promise<Hex>;
  /** Forget the nonce: after a reorganisation the chain's count may be lower than ours. */
  resync(): void;
}

const GWEI = 10n ** 9n;

/** The venue's own account is rich: its gas is enough for the largest callback, and no fee spike that a test sets may silence it. */
const RICH = { gas: 3_000_000n, maxFeePerGas: 200_000n * GWEI };
/** A demo trader with a single coin must be able to pay an approval up front. */
const MODEST = { gas: 150_000n, maxFeePerGas: 1_000n * GWEI };
const BUDGETS = { rich: RICH, modest: MODEST } as const;

/** Sends transactions of one account one after the other; a refused one costs no nonce. */
export function createSender(rpc: Rpc, chainId: number, signer: PrivateKeyAccount, budget: keyof typeof BUDGETS): Sender {
  /** Of the next transaction; null when the chain has to be asked. */
  let next: number | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  async function sendWith(nonce: number, call: Call): Promise<Hex> {
    const raw = await signer.signTransaction({
      type: 'eip1559',
      chainId,
      nonce,
      ...BUDGETS[budget],
      maxPriorityFeePerGas: GWEI,
      to: call.to,
      data: call.data ?? '0x',
      value: call.value ?? 0n,
    });
    return (await rpc.request('eth_sendRawTransaction', [raw])) as Hex;
  }

  /** A reorganisation may come between any two steps, so what was remembered before it is neither kept nor final. */
  async function sendNow(call: Call): Promise<Hex> {
    const remembered = next;
    const nonce = remembered ?? Number(await rpc.request('eth_getTransactionCount', [signer.address, 'pending']));
    next = nonce;
    try {
      const hash = await sendWith(nonce, call);
      if (next === nonce) next = nonce + 1;
      return hash;
    } catch (error) {
      next = null;
      if (remembered === null) throw error;
      return sendNow(call);
    }
  }

  return {
    address: signer.address,
    send(call) {
      const sent = queue.then(() => sendNow(call));
      queue = sent.catch(() => undefined);
      return sent;
    },
    resync() {
      next = null;
    },
  };
}
