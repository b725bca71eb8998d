import { Agent, request } from 'node:http';
import { Wallet } from 'ethers';
import { eventually } from '../test/harness/time/eventually.js';
import { approveAgent, order, postExchange, signL1 } from '../test/harness/hyperliquid/exchange.js';
import { CHAIN, type StageTrader } from './relayer-stage.js';

/** A trader's bot: its agent is approved, its orders rest far below the market, each at a price that no other has. */
export interface Bot {
  readonly trader: StageTrader;
  readonly agent: Wallet;
  /** Whole dollars of the orders it has signed, and of those of them that were answered as resting. */
  readonly prices: number[];
  readonly resting: number[];
}

const LOWEST_PRICE = 30_000;

export async function approveBot(url: string, trader: StageTrader): Promise<Bot> {
  const [master, agent] = [new Wallet(trader.privateKey), new Wallet(Wallet.createRandom().privateKey)];
  await eventually(
    async () => (await postExchange(url, CHAIN, await approveAgent(master, agent.address, null, { network: 'Testnet' }))).body,
    (body) => (body as { status?: string }).status === 'ok',
  );
  return { trader, agent, prices: [], resting: [] };
}

/** Signed ahead, so that signing takes nothing from what is measured. */
export const signOrder = async (bot: Bot): Promise<string> => (await signPriced(bot)).body;

export interface SignedOrder {
  readonly bot: Bot;
  readonly price: number;
  readonly body: string;
}

export async function signPriced(bot: Bot): Promise<SignedOrder> {
  const { agent, prices } = bot;
  const price = LOWEST_PRICE + prices.length;
  prices.push(price);
  const wire = order({ a: 0, b: true, p: String(price), s: '0.01', r: false, t: { limit: { tif: 'Gtc' } } });
  return { bot, price, body: JSON.stringify(await signL1(agent, { type: 'order', orders: [wire], grouping: 'na' })) };
}

export type Post = (body: string) => Promise<string>;

/** Connections that stay open, as many as are needed. One that the server has just closed is no answer: the body is sent again. */
export function createPoster(url: string): Post {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const { hostname, port, pathname: path } = new URL(url);
  const post: Post = (body) =>
    new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
      const asked = request({ agent, hostname, port, path, method: 'POST', headers }, (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
      });
      asked.on('error', (error) => (asked.reusedSocket ? resolve(post(body)) : reject(error))).end(body);
    });
  return post;
}

/** So many at a time, begun in the order given. */
export async function pour<Item>(items: readonly Item[], atOnce: number, work: (item: Item) => Promise<void>): Promise<void> {
  let at = 0;
  const worker = async (): Promise<void> => {
    for (let item = items[at++]; item !== undefined; item = items[at++]) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
