import type { PrivateKeyAccount } from 'viem/accounts';
import { createPublicClient, custom, type PublicClient } from 'viem';
import type { Hex } from '../core/types.js';

export interface Call {
  readonly to: `0x${string}`;
  readonly data?: Hex;
  readonly value?: bigint;
  /** Instead of the limit that is enough for every call of the venue itself. */
  readonly gas?: bigint;
}

export interface Sender {
  readonly address: `0x${string}`;
  send(call: Call): Promise<Hex>;
  /** Drops the cached nonce: after a reorganisation the chain's count may be lower. */
  resync(): void;
}

const GWEI = 10n ** 9n;

/** The venue's own account: enough gas for the largest callback, and a fee above any spike that a test sets. */
const RICH = { gas: 3_000_000n, maxFeePerGas: 200_000n * GWEI };
/** A demo trader with a single coin must be able to pay for an approval. */
const MODEST = { gas: 150_000n, maxFeePerGas: 1_000n * GWEI };
const BUDGETS = { rich: RICH, modest: MODEST } as const;

/** Sends one account's transactions one after the other; a refused one uses no nonce. */
export function createSender(rpc: Rpc, chainId: number, signer: PrivateKeyAccount, budget: keyof typeof BUDGETS): Sender {
  /** The next nonce; null if it must be read from the chain. */
  let next: number | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  async function sendWith(nonce: number, call: Call): Promise<Hex> {
    const raw = await signer.signTransaction({
      type: 'eip1559',
      chainId,
      nonce,
      ...BUDGETS[budget],
      gas: call.gas ?? BUDGETS[budget].gas,
      maxPriorityFeePerGas: GWEI,
      to: call.to,
      data: call.data ?? '0x',
      value: call.value ?? 0n,
    });
    return (await rpc.request('eth_sendRawTransaction', [raw])) as Hex;
  }

  /** A reorganisation may occur between any two steps, so a cached nonce from before it must be dropped. */
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

export interface Rpc {
  /** Throws the node's error replies. */
  request(method: string, params?: readonly unknown[]): Promise<unknown>;
}

/** viem on a node of this process: typed reads without a socket. */
export function createLocalClient(rpc: Rpc): PublicClient {
  return createPublicClient({
    cacheTime: 0,
    transport: custom(
      { request: ({ method, params }: { method: string; params?: readonly unknown[] }) => rpc.request(method, params) },
      { retryCount: 0 },
    ),
  });
}
