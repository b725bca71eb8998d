import { setTimeout as sleep } from 'node:timers/promises';
import { createPublicClient, http } from 'viem';
import { openDatabase } from '../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { scanBlocks } from '../../bench/relayer-chain.js';
import { GatewayError } from '../../core/errors.js';
import { CHAIN } from '../../bench/relayer-stage.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { expectRelayInvariants, openPurse, type Purse } from '../harness/checks/relay-invariants.js';
import { eventually } from '../harness/time/eventually.js';
import type { Bots, SentOrder } from './bots.js';
import type { Stage } from './stage.js';

export interface Verdict {
  readonly sent: number;
  /** Answered as standing. */
  readonly resting: number;
  readonly refused: number;
  readonly unknown: number;
  /** Answered as standing, not sent in time, and shown as rejected since. */
  readonly expired: number;
  /** Answered as standing, not on chain, and nothing was said since. */
  readonly lost: readonly SentOrder[];
  /** Orders with more than one trade on chain. */
  readonly doubled: readonly SentOrder[];
  /** Answered as refused, and on chain. */
  readonly contradicted: readonly SentOrder[];
  /** Transactions of the wallet that hold no order of the bots. */
  readonly strange: number;
}

const TRIES = 60;

export const purseOf = ({ rpcUrl, relayer }: Stage): Promise<Purse> =>
  openPurse(createPublicClient({ transport: http(rpcUrl, { timeout: 60_000, batch: true }), cacheTime: 0 }), relayer);

/** Holds what the bots sent and were answered against the chain, and the gateway's books and lists against it as well. */
export async function judge(stage: Stage, bots: Bots, purse: Purse): Promise<Verdict> {
  await expectBooks(stage, purse);
  const { orders } = await scanBlocks(stage.chain, stage.relayer, Number(purse.block) + 1);
  const trades = new Map<string, number>();
  const keyOf = (trader: string, price: number): string => `${trader} ${price}`;
  for (const { trader, price } of orders.filter((each) => each.trader !== '')) {
    const key = keyOf(trader, Math.round(price * stage.spread));
    trades.set(key, (trades.get(key) ?? 0) + 1);
  }
  const known = new Set(bots.sent.map(({ trader, price }) => keyOf(trader, price)));
  const onChain = ({ trader, price }: SentOrder): number => trades.get(keyOf(trader, price)) ?? 0;
  await expectLists(stage, bots, onChain);
  const absent = bots.sent.filter((each) => each.outcome === 'resting' && onChain(each) === 0);
  const lost: SentOrder[] = [];
  for (const each of absent) if (!(await isReported(stage, each))) lost.push(each);
  const of = (outcome: SentOrder['outcome']): readonly SentOrder[] => bots.sent.filter((each) => each.outcome === outcome);
  return {
    sent: bots.sent.length,
    resting: of('resting').length,
    refused: of('refused').length,
    unknown: of('unknown').length,
    expired: absent.length - lost.length,
    lost,
    doubled: bots.sent.filter((each) => onChain(each) > 1),
    contradicted: of('refused').filter((each) => onChain(each) > 0),
    strange: [...trades].filter(([key]) => !known.has(key)).length,
  };
}

/** Each nonce once, each transaction the only one of its job, and the ledger equal to the wallet's balance. */
async function expectBooks(stage: Stage, purse: Purse): Promise<void> {
  for (let left = TRIES; ; left -= 1)
    try {
      return await readBooks(stage, purse);
    } catch (error) {
      // It asks whether commits were lost whenever a gateway does, as any gateway.
      if (left === 0 || !(error instanceof GatewayError)) throw error;
      await sleep(1_000);
    }
}

async function readBooks({ cluster }: Stage, purse: Purse): Promise<void> {
  const store = await openDatabase({ kind: 'server', url: (await cluster.primary()).url, clock: systemClock, log: createRecordedLog() });
  try {
    // Like any gateway that starts, it begins by asking whether commits were lost.
    await eventually(
      () => store.continuity.doubt(),
      (doubt) => doubt === null,
    );
    await expectRelayInvariants(purse, { slug: CHAIN, store: store.relay });
  } finally {
    await store.close();
  }
}

/** What a bot sees that asks what became of its order. */
async function isReported({ gateways }: Stage, { trader, cloid }: SentOrder): Promise<boolean> {
  const status = (await askInfo(gateways[0]?.url ?? '', { type: 'orderStatus', user: trader, oid: cloid })) as {
    readonly order?: { readonly status: string };
  } | null;
  return status?.order !== undefined && status.order.status !== 'open';
}

async function askInfo(url: string, question: Record<string, string>): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' };
  const reply = await fetch(`${url}/hl/${CHAIN}/info`, { method: 'POST', body: JSON.stringify(question), headers });
  return reply.ok ? reply.json() : null;
}

/** What each gateway shows as open orders of the bots is what stands on chain. */
async function expectLists({ gateways, spread }: Stage, bots: Bots, onChain: (order: SentOrder) => number): Promise<void> {
  for (const trader of new Set(bots.sent.map((each) => each.trader))) {
    const standing = bots.sent.filter((each) => each.trader === trader && onChain(each) > 0).map(({ price }) => price);
    for (const { url } of gateways)
      await eventually(
        async () => {
          const listed = (await askInfo(url, { type: 'openOrders', user: trader })) as readonly { readonly limitPx: string }[] | null;
          // An order whose row was lost comes back from the chain with the contract's price.
          const asked = (price: number): number => (standing.includes(price) ? price : Math.round(price * spread));
          const prices = (listed ?? []).map(({ limitPx }) => asked(Number(limitPx)));
          return {
            missing: standing.filter((price) => !prices.includes(price)),
            more: prices.filter((price) => !standing.includes(price)),
          };
        },
        ({ missing, more }) => missing.length === 0 && more.length === 0,
      );
  }
}
