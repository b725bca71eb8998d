import { createWalletClient, custom, type AbiEvent, type Hex, type PublicClient } from 'viem';
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { tokenAbi } from '../../../sandbox/contracts/artefact.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { trade, type Trade } from '../diamond/diamond-calls.js';
import { eventually } from '../time/eventually.js';
import { nodeClient } from './node-client.js';

/** A trader with a wallet and nothing else: it asks the node what any outsider may ask, without a socket in between. */
export interface ChainTrader {
  readonly account: PrivateKeyAccount;
  readonly privateKey: Hex;
  readonly client: PublicClient;
  send(to: `0x${string}`, data: Hex): Promise<Hex>;
  open(changes?: Partial<Trade>, maxSlippageP?: number): Promise<Hex>;
  close(index: number, expectedPrice: bigint): Promise<Hex>;
  /** Open positions and resting orders. */
  trades(): Promise<readonly Trade[]>;
  pending(): Promise<number>;
  usdc(): Promise<bigint>;
  /** The first event of that name about this trader, waiting for it. */
  event(name: string): Promise<Record<string, unknown>>;
}

export async function newTrader(chain: ChainControls, funds: { usdc?: string; delegate?: `0x${string}` } = {}): Promise<ChainTrader> {
  const { privateKey } = await chain.faucet.createTrader({
    usdc: funds.usdc ?? '10000',
    eth: '10',
    approve: true,
    delegate: funds.delegate ?? null,
  });
  return chainTrader(chain, privateKey);
}

export function chainTrader(chain: ChainControls, privateKey: Hex): ChainTrader {
  const account = privateKeyToAccount(privateKey);
  const client = nodeClient(chain);
  const wallet = createWalletClient({ account, transport: custom(client) });
  const diamond = { address: chain.definition.diamond, abi: diamondAbi } as const;
  const viemChain = {
    id: chain.definition.chainId,
    name: chain.definition.name,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [chain.rpcUrl] } },
  };
  const usdcToken = chain.collaterals.find(({ symbol }) => symbol === 'USDC');
  if (!usdcToken) throw new Error('the chain has no USDC');

  async function mined(hash: Hex): Promise<Hex> {
    if ((await receiptOf(chain, hash)).status !== '0x1') throw new Error(`${hash} reverted`);
    return hash;
  }

  const options = { ...diamond, account, chain: viemChain } as const;
  return {
    account,
    privateKey,
    client,
    // With a margin: estimated on the block that wrote a slot last, writing it again seems to cost next to nothing.
    async send(to, data) {
      const gas = ((await client.estimateGas({ account, to, data })) * 12n) / 10n;
      return mined(await wallet.sendTransaction({ to, data, gas, chain: viemChain }));
    },
    async open(changes = {}, maxSlippageP = 1000) {
      const args = [
        trade({ collateralIndex: usdcToken.index, ...changes }),
        maxSlippageP,
        '0x0000000000000000000000000000000000000000',
      ] as const;
      return mined(await wallet.writeContract({ ...options, functionName: 'openTrade', args }));
    },
    close: async (index, expectedPrice) =>
      mined(await wallet.writeContract({ ...options, functionName: 'closeTradeMarket', args: [index, expectedPrice] })),
    async trades() {
      return (await client.readContract({ ...diamond, functionName: 'getTrades', args: [account.address] })).filter(({ isOpen }) => isOpen);
    },
    async pending() {
      return (await client.readContract({ ...diamond, functionName: 'getPendingOrders', args: [account.address] })).filter(
        ({ isOpen }) => isOpen,
      ).length;
    },
    usdc: () =>
      client.readContract({
        address: usdcToken.address,
        abi: tokenAbi,
        functionName: 'balanceOf',
        args: [account.address],
      }),
    async event(name) {
      const find = async (): Promise<Record<string, unknown> | undefined> => {
        const logs = await client.getLogs({ address: diamond.address, event: eventOf(name), fromBlock: 0n, strict: true });
        return logs.map(({ args }) => args as Record<string, unknown>).findLast((args) => mentions(args, account.address));
      };
      const found = await eventually(find, (args) => args !== undefined);
      return found ?? {};
    },
  };
}

/** Waits for the block of a transaction. */
export async function receiptOf(chain: ChainControls, hash: Hex): Promise<{ readonly status: Hex }> {
  const found = await eventually(
    () => chain.request('eth_getTransactionReceipt', [hash]) as Promise<{ readonly status: Hex } | null>,
    (receipt) => receipt !== null,
  );
  if (found === null) throw new Error(`${hash} has no receipt`);
  return found;
}

/** Without the type of each event: their union is too large for the compiler. */
const EVENTS: readonly AbiEvent[] = diamondAbi.filter((item) => item.type === 'event');

function eventOf(name: string): AbiEvent {
  const found = EVENTS.find((event) => event.name === name);
  if (found === undefined) throw new Error(`the Diamond has no event ${name}`);
  return found;
}

const mentions = (args: Record<string, unknown>, address: string): boolean =>
  [args['trader'], args['user'], (args['orderId'] as { user?: string } | undefined)?.user].some((value) => value === address);
