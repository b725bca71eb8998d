import { randomBytes } from 'node:crypto';
import { Wallet } from 'ethers';
import type { StageTrader } from '../../bench/relayer-stage.js';
import { CHAIN } from '../../bench/relayer-stage.js';
import { approveAgent, order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { eventually } from '../harness/time/eventually.js';

/** resting: the venue said that it stands. refused: that it does not. unknown: neither, as with 503, after which it may stand. */
export type Outcome = 'resting' | 'refused' | 'unknown';

export interface SentOrder {
  readonly trader: string;
  /** Whole dollars; no other order of the trader has it, so that an order is known again on chain. */
  readonly price: number;
  readonly cloid: string;
  readonly sentAt: number;
  answeredAt: number;
  outcome: Outcome;
  /** What was answered, for the report of an order that nothing explains. */
  answer: string;
}

export interface Bots {
  readonly sent: readonly SentOrder[];
  /** Orders at a steady rate, through one gateway after the other, however long answers take. */
  start(): void;
  /** Resolves when every order was answered or given up. */
  stop(): Promise<void>;
}

/** Up to 32,000 no order of a bot has the price of another one without the spread, which is how the contract stores it. */
const LOWEST_PRICE = 30_100;
const PER_SECOND = 4;
const PATIENCE_MS = 30_000;

export async function createBots(urls: readonly string[], traders: readonly StageTrader[]): Promise<Bots> {
  const agents = await Promise.all(traders.map((trader) => approve(urls[0] ?? '', trader)));
  const sent: SentOrder[] = [];
  const open = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | null = null;

  async function send(at: number): Promise<void> {
    const [trader, agent, url] = [
      traders[at % traders.length],
      agents[at % agents.length],
      urls[Math.floor(at / traders.length) % urls.length],
    ];
    if (trader === undefined || agent === undefined || url === undefined) throw new Error('there are no bots');
    const price = LOWEST_PRICE + Math.floor(at / traders.length);
    const cloid = `0x${randomBytes(16).toString('hex')}`;
    const record: SentOrder = {
      ...{ trader: trader.address.toLowerCase(), price, cloid, sentAt: Date.now() },
      ...{ answeredAt: 0, outcome: 'unknown', answer: '' },
    };
    sent.push(record);
    const wire = order({ a: 0, b: true, p: String(price), s: '0.01', t: { limit: { tif: 'Gtc' } }, c: cloid });
    const body = JSON.stringify(await signL1(agent, orderAction(wire)));
    try {
      const headers = { 'Content-Type': 'application/json' };
      const init = { method: 'POST', body, headers, signal: AbortSignal.timeout(PATIENCE_MS) };
      const reply = await fetch(`${url}/hl/${CHAIN}/exchange`, init);
      record.answer = `${reply.status} ${await reply.text()}`;
      record.outcome = outcomeOf(record.answer);
    } catch (error) {
      record.answer = String(error);
    }
    record.answeredAt = Date.now();
  }

  return {
    sent,
    start() {
      timer ??= setInterval(() => {
        const sending = send(sent.length).finally(() => open.delete(sending));
        open.add(sending);
      }, 1_000 / PER_SECOND);
    },
    async stop() {
      if (timer !== null) clearInterval(timer);
      timer = null;
      await Promise.all(open);
    },
  };
}

async function approve(url: string, { privateKey }: StageTrader): Promise<Wallet> {
  const agent = new Wallet(Wallet.createRandom().privateKey);
  await eventually(
    async () =>
      (await postExchange(url, CHAIN, await approveAgent(new Wallet(privateKey), agent.address, null, { network: 'Testnet' }))).body,
    (body) => (body as { status?: string }).status === 'ok',
  );
  return agent;
}

const outcomeOf = (answer: string): Outcome => {
  if (answer.includes('"resting"')) return 'resting';
  return answer.startsWith('4') || /^200 .*"err(?:or)?"/.test(answer) ? 'refused' : 'unknown';
};
