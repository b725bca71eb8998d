import { systemClock } from '../core/adapters/system-clock.js';
import { createFaultProxy } from '../sandbox/fault-proxy.js';
import { eventually } from '../test/harness/eventually.js';
import { median } from './median.js';
import { approveBot, createPoster, signOrder, type Bot } from './relayer-bots.js';
import { CHAIN, openStage, type Stage } from './relayer-stage.js';

/**
 * What a bot's order costs the gateway that relays it, from the signed body to the signed transaction in the hands of the node: questions
 * to the node before it is sent, and processor time. Nothing is mined meanwhile, so that following the chain costs nothing; what the
 * gateway uses while nobody asks is taken off. `BENCH_PROFILE` names a file for a profile of the measured orders.
 */
const ORDERS = 100;
const WARM_UP = 150;
const COUNTED = 20;
const IDLE_MS = 3_000;
const BETWEEN_BLOCKS = 20;
const SETTLE_MS = 3_000;
const profile = process.env['BENCH_PROFILE'] ?? null;

/** Answers wait for no outcome: with no block there is none. */
const stage = await openStage({ FACADE_HOLD_MS: '0' });
const proxy = await createFaultProxy({ target: stage.rpcUrl, clock: systemClock });
let sent = 0;
let onSent = (): void => undefined;

try {
  process.exitCode = await measure(stage);
} finally {
  await proxy.close();
  await stage.end();
}
process.exit();

async function measure(on: Stage): Promise<number> {
  const url = await on.startGateway(proxy.url);
  const [trader] = await on.traders(1, on.relayer);
  if (!trader) throw new Error('no trader');
  const bot = await approveBot(url, trader);
  const post = createPoster(`${url}/hl/${CHAIN}/exchange`);
  countSent();
  await eventually(
    async () => post(await signOrder(bot)),
    (body) => body.includes('resting'),
  );
  for (let turn = 0; turn < WARM_UP; turn += 1) await relayed(bot, post);
  const asked = await questions(bot, post);
  await on.venue({ kind: 'pause', paused: true });
  const used = await processorTime(on, bot, post);
  const rows = [
    row('round trips to the node about the trader before the order is sent', asked, 1, ''),
    row('processor time from the signed order to the sent transaction (median)', median(used) / 1000, 4, 'ms'),
  ];
  return process.argv.includes('--strict') && rows.includes(false) ? 1 : 0;
}

type Ask = (body: string) => Promise<string>;

/** Signs first; resolves when the transaction is with the node and the order is answered. */
async function relayed(bot: Bot, post: Ask): Promise<void> {
  const body = await signOrder(bot);
  await relayedBody(body, post);
}

async function relayedBody(body: string, post: Ask): Promise<void> {
  const isSent = new Promise<void>((resolve) => (onSent = resolve));
  const answer = await post(body);
  if (!answer.includes('resting')) throw new Error(answer);
  await isSent;
}

function countSent(): void {
  proxy.onRequest((body) => {
    if (JSON.stringify(body).includes('eth_sendRawTransaction')) {
      sent += 1;
      onSent();
    }
    return undefined;
  });
}

/** Per order: what the node is asked about the trader until it is handed the transaction. */
async function questions(bot: Bot, post: Ask): Promise<number> {
  const about = bot.trader.address.slice(2).toLowerCase();
  let asked = 0;
  let sentBefore = sent;
  const stop = proxy.onRequest((body) => {
    const text = JSON.stringify(body).toLowerCase();
    if (sent === sentBefore && !text.includes('eth_sendrawtransaction') && text.includes(about)) asked += 1;
    return undefined;
  });
  for (let turn = 0; turn < COUNTED; turn += 1) {
    sentBefore = sent;
    await relayed(bot, post);
  }
  stop();
  return asked / COUNTED;
}

/** Microseconds of each order, without what the gateway uses anyway and what asking for it costs. */
async function processorTime(on: Stage, bot: Bot, post: Ask): Promise<number[]> {
  const asking = await measured(on, () => Promise.resolve());
  const idle = await measured(on, () => systemClock.sleep(IDLE_MS));
  const perMs = (idle.used - asking.used) / idle.took;
  const used: number[] = [];
  if (profile !== null) await on.usage({ profile });
  for (let turn = 0; turn < ORDERS; turn += 1) {
    if (turn % BETWEEN_BLOCKS === BETWEEN_BLOCKS - 1) await letBlocksCome(on);
    const body = await signOrder(bot);
    const one = await measured(on, () => relayedBody(body, post));
    used.push(one.used - asking.used - one.took * perMs);
  }
  if (profile !== null) await on.usage({ profile });
  return used;
}

/** A lane whose transactions get into no block for long is fenced. */
async function letBlocksCome(on: Stage): Promise<void> {
  await on.venue({ kind: 'pause', paused: false });
  await systemClock.sleep(SETTLE_MS);
  await on.venue({ kind: 'pause', paused: true });
}

async function measured(on: Stage, work: () => Promise<void>): Promise<{ readonly used: number; readonly took: number }> {
  const { cpu } = await on.usage();
  const since = performance.now();
  await work();
  const took = performance.now() - since;
  return { used: (await on.usage()).cpu - cpu, took };
}

function row(name: string, value: number, atMost: number, unit: string): boolean {
  const isMet = value <= atMost;
  console.log(`${name.padEnd(70)} ${value.toFixed(2).padStart(8)} ${unit.padEnd(4)} at most ${atMost}  ${isMet ? 'met' : 'MISSED'}`);
  return isMet;
}
