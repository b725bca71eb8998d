import { Transaction } from 'ethers';
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { Address, Cancel, Hex } from '../../../core/types.js';
import { localSigner } from '../../../sandbox/accounts.js';
import { RpcFailure } from '../../../sandbox/chain/chain-node.js';
import type { VenueChain } from '../../../sandbox/venue-chain.js';
import type { Random } from '../../fuzz/random.js';
import { BOT_KEYS, ORACLE_TIMEOUT_BLOCKS } from '../equipped-chain.js';

/** What traders, other programs and other miners do to the chain on which the relayer sends. */
export interface ChainFaults {
  /** Every trader of the facade takes its delegation back, in a block before the relayer's transactions. */
  withdraw(): Promise<void>;
  /** They delegate again to the wallet of their set-up. */
  delegateAgain(): Promise<void>;
  /** Another transaction of the wallet is mined with its next nonce. */
  useElsewhere(key: Hex): Promise<void>;
  /** Another branch, in which the relayer's nonces are used by any of the transactions that it has ever sent with them. */
  changeBranch(depth: number, isWithdrawn: boolean): Promise<void>;
  /** Traders take back each request in the first block in which they may. */
  takeBackRequests(): Cancel;
  /** Hashes of transactions with a key of the relayer that it did not send. */
  readonly foreign: ReadonlySet<string>;
}

export interface ChainFaultParts {
  readonly chain: VenueChain;
  readonly random: Random;
  readonly wallets: readonly Address[];
  /** Signed transactions that have left a replica. */
  readonly sent: ReadonlySet<Hex>;
  readonly track: (work: Promise<unknown>) => void;
}

const GWEI = 10n ** 9n;
/** Above what the relayer may pay, so that a block has it first and the pool prefers it. */
const FEES = { gas: 150_000n, maxPriorityFeePerGas: 60n * GWEI, maxFeePerGas: 1_000n * GWEI };

export function createChainFaults({ chain: { node, controls }, random, wallets, sent, track }: ChainFaultParts): ChainFaults {
  const { diamond, chainId } = controls.definition;
  const foreign = new Set<string>();
  /** Faults that take requests back; those at the same time share one look at each block, so that no request is taken back twice. */
  let takers = 0;
  let stopTaking: Cancel | null = null;

  const countOf = async (address: string, at: 'latest' | 'pending'): Promise<number> =>
    Number(await node.request('eth_getTransactionCount', [address, at]));

  /** One after the other, because each asks for the nonce first: two faults may begin at once. */
  let sending: Promise<unknown> = Promise.resolve();
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = sending.then(work);
    sending = done.catch(() => undefined);
    return done;
  }

  async function sendNow(key: Hex, to: Address, data: Hex, at: 'latest' | 'pending'): Promise<Hex> {
    const signer = localSigner(key);
    const nonce = await countOf(signer.address, at);
    const raw = await signer.signTransaction({ type: 'eip1559', chainId, nonce, ...FEES, to, data });
    return (await node.request('eth_sendRawTransaction', [raw])) as Hex;
  }
  const send = (key: Hex, to: Address, data: Hex): Promise<Hex> => inTurn(() => sendNow(key, to, data, 'pending'));

  async function withdraw(): Promise<void> {
    const data = encodeFunctionData({ abi: diamondAbi, functionName: 'removeTradingDelegate' });
    for (const { trader } of BOT_KEYS.facade) await send(trader, diamond, data);
  }

  /** The transactions of each nonce that is free, by wallet and nonce. */
  async function attempts(): Promise<Map<string, Hex[]>> {
    const free = new Map<string, number>();
    for (const wallet of wallets) free.set(wallet, await countOf(wallet, 'latest'));
    const found = [...sent].map((raw) => ({ raw, ...parsed(raw) })).filter(({ from, nonce }) => nonce >= (free.get(from) ?? Infinity));
    const byNonce = new Map<string, Hex[]>();
    for (const { raw, from, nonce } of found.sort((a, b) => a.nonce - b.nonce))
      byNonce.set(`${from} ${nonce}`, [...(byNonce.get(`${from} ${nonce}`) ?? []), raw]);
    return byNonce;
  }

  async function takeBack(trader: Hex, next: bigint): Promise<void> {
    const { address } = localSigner(trader);
    const call = { to: diamond, data: encodeFunctionData({ abi: diamondAbi, functionName: 'getPendingOrders', args: [address] }) };
    const data = (await node.request('eth_call', [call, 'latest'])) as Hex;
    for (const { isOpen, index, createdBlock } of decodeFunctionResult({ abi: diamondAbi, functionName: 'getPendingOrders', data }))
      if (isOpen && BigInt(createdBlock + ORACLE_TIMEOUT_BLOCKS) === next)
        await send(trader, diamond, encodeFunctionData({ abi: diamondAbi, functionName: 'cancelOrderAfterTimeout', args: [index] }));
  }

  return {
    foreign,
    withdraw,
    async delegateAgain() {
      for (const [at, { trader }] of BOT_KEYS.facade.entries()) {
        const delegate = (at === 0 ? wallets[1] : undefined) ?? wallets[0];
        if (delegate === undefined) continue;
        const data = encodeFunctionData({ abi: diamondAbi, functionName: 'setTradingDelegate', args: [delegate] });
        await send(trader, diamond, data);
      }
    },
    useElsewhere: (key) =>
      inTurn(async () => {
        foreign.add(await sendNow(key, localSigner(key).address, '0x', 'latest'));
        await controls.mine(1);
      }),
    async changeBranch(depth, isWithdrawn) {
      await controls.reorg(depth, true);
      if (isWithdrawn) {
        await withdraw();
        await controls.mine(1);
      }
      for (const raws of (await attempts()).values())
        await node.request('eth_sendRawTransaction', [random.pick(raws)]).catch((error: unknown) => {
          // The pool may have another one already.
          if (!(error instanceof RpcFailure)) throw error;
        });
      await controls.mine(1);
    },
    takeBackRequests() {
      takers += 1;
      stopTaking ??= node.onBlock(({ number }) => {
        for (const { trader } of [...BOT_KEYS.facade, ...BOT_KEYS.native]) track(takeBack(trader, number + 1n));
      });
      return () => {
        takers -= 1;
        if (takers > 0) return;
        stopTaking?.();
        stopTaking = null;
      };
    },
  };
}

function parsed(raw: Hex): { readonly from: string; readonly nonce: number } {
  const { from, nonce } = Transaction.from(raw);
  return { from: (from ?? '').toLowerCase(), nonce };
}
