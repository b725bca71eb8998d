import { createWalletClient, custom, type Hex } from 'viem';
import { TRADING_STATES } from '../../../core/domain/market.js';
import type { Venue } from '../../../core/gateway.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { lowerOf } from '../diamond/chain-checker.js';
import type { ChainTrader } from './chain-trader.js';
import { eventually } from '../time/eventually.js';
import { nodeClient } from './node-client.js';
import { orderDraft, type DraftWishes } from './order-draft.js';
import { operatorOf } from '../venue/operator.js';
import type { TestVenue } from '../venue/own-venue.js';

/** Orders that are handed out by the store itself, so that a test decides what becomes of their bytes. */
export function storedOrders({ gateway }: TestVenue, chain: ChainControls, venue: Venue) {
  const { slug, diamond, chainId } = venue.definition;
  const { orders, journal, spend } = gateway.store;

  const find = async (trader: ChainTrader, id: bigint): Promise<KnownOrder> => {
    const found = await orders.find(slug, lowerOf(trader), id);
    if (!found) throw new Error(`there is no order ${id}`);
    return found;
  };

  return {
    find,
    async place(trader: ChainTrader, wishes: DraftWishes = {}): Promise<{ id: bigint; data: Hex }> {
      const draft = orderDraft(slug, trader.account.address, wishes);
      const answer = await orders.place(draft);
      if (answer.kind !== 'placed') throw new Error(`it was ${answer.kind}`);
      return { id: answer.stored.id, data: draft.data };
    },
    send: (trader: ChainTrader, data: Hex): Promise<Hex> => trader.send(diamond, data),
    /** Without asking the node whether it can succeed. */
    async broadcast(trader: ChainTrader, data: Hex): Promise<Hex> {
      const wallet = createWalletClient({ account: trader.account, transport: custom(nodeClient(chain)) });
      return wallet.sendTransaction({ to: diamond, data, gas: 3_000_000n, chain: chainOf(chain) });
    },
    reaches: (trader: ChainTrader, id: bigint, status: KnownOrder['order']['status']): Promise<KnownOrder> =>
      eventually(
        () => find(trader, id),
        ({ order }) => order.status === status,
      ),
    /** Takes back the block of the transaction and so many that it is `depth` deep in what goes, while the chain stands still. */
    async undo(trader: ChainTrader, hash: Hex, depth: number, drop: boolean): Promise<void> {
      await chain.pauseMining(true);
      try {
        const { blockNumber } = await trader.client.getTransactionReceipt({ hash });
        const above = Number((await trader.client.getBlockNumber()) - blockNumber);
        await chain.reorg(above + depth, drop);
      } finally {
        await chain.pauseMining(false);
      }
    },
    all: (trader: ChainTrader) => gateway.store.account.ordersBefore(slug, lowerOf(trader), null, 500),
    /** The journal of the account, an entry per line. */
    async journal(trader: ChainTrader): Promise<string[]> {
      return (await journal.after(slug, lowerOf(trader), 0n, 500)).map(({ fact }) => {
        if (fact.kind === 'order') return `order ${fact.id} ${fact.order.status}`;
        if (fact.kind !== 'correction') return fact.kind;
        return fact.of.kind === 'order' ? `correction ${fact.of.id} ${fact.of.order?.status ?? 'gone'}` : `correction ${fact.of.kind}`;
      });
    },
    spent: (trader: ChainTrader, day: number) => spend.spent({ chain: slug, agent: lowerOf(trader), trader: lowerOf(trader), day }),
    /** 0 trading, 1 only closing, 2 nothing. Waits until the gateway has read it: its answers about closed markets depend on it. */
    async setActivated(value: number): Promise<void> {
      await operatorOf(chain).control('sandboxSetTradingActivated', [value]);
      await eventually(
        () => venue.feed.config().tradingState,
        (state) => state === TRADING_STATES[value],
      );
    },
    chainId,
  };
}

const chainOf = ({ definition, rpcUrl }: ChainControls) => ({
  id: definition.chainId,
  name: definition.name,
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
