import { systemClock } from '../core/adapters/system/clock.js';
import { createFaultProxy } from '../sandbox/fault-proxy.js';
import { eventually } from '../test/harness/time/eventually.js';
import { quantile } from './median.js';
import { approveBot, createPoster, signOrder, type Bot, type Post } from './relayer-bots.js';
import { CHAIN, openStage, type Stage } from './relayer-stage.js';

/**
 * What a bot's order costs the gateway that relays it, from the signed body to the signed transaction in the hands of the node: questions
 * to the node before it is sent, and processor time of its process, all threads. Nothing is mined meanwhile, so that following the chain
 * costs nothing; what the gateway uses without requests is taken off. Once the orders of many bots are under way at the same moment, as
 * on a core that is busy, and once each comes when the one before is sent, so that the machine falls asleep and is woken for every message
 * of it. `BENCH_PROFILE` names a file for a profile of the orders that come together.
 */
const BOTS = 20;
const AT_ONCE = 24;
const [BLOCKS, BLOCK] = [16, 72];
/** Enough for the compiler to have seen what runs often: a gateway lives for weeks. */
const WARM_UP = 3_000;
const WARM_UP_TURN = 200;
const COUNTED = 20;
const IDLE_MS = 600;
/** Between two blocks of orders everything of the first is mined and streamed. */
const MINE_MS = 1_000;
/** What an order leaves to be done once it is sent is done by then. */
const SETTLE_MS = 300;
const profile = process.env['BENCH_PROFILE'] ?? null;

const stage = await openStage();
const proxy = await createFaultProxy({ target: stage.rpcUrl, clock: systemClock });
let sent = 0;
let onSent: () => void = () => undefined;

try {
  process.exitCode = await measure(stage);
} finally {
  await proxy.close();
  await stage.end();
}
process.exit();

async function measure(on: Stage): Promise<number> {
  const url = await on.startGateway(proxy.url);
  const bots = await Promise.all((await on.traders(BOTS, on.relayer)).map((trader) => approveBot(url, trader)));
  const post = createPoster(`${url}/hl/${CHAIN}/exchange`);
  countSent();
  const [first] = bots;
  if (!first) throw new Error('no bot');
  await eventually(
    async () => post(await signOrder(first)),
    (body) => body.includes('resting'),
  );
  for (let done = 0; done < WARM_UP; done += WARM_UP_TURN) await (await send(await signed(bots, WARM_UP_TURN), post, AT_ONCE)).answered;
  const asked = await questions(first, post);
  await on.venue({ kind: 'pause', paused: true });
  const { together, apart, idle } = await processorTime(on, bots, post);
  console.log(`${'no requests'.padEnd(70)} ${(idle / 10).toFixed(1).padStart(8)} %    of a core, taken off`);
  const rows = [
    row('round trips to the node about the trader before the order is sent', asked, 1, ''),
    row(`processor time from the signed order to the sent transaction, ${AT_ONCE} at once`, together, 4, 'ms'),
    row('the same, one order after the other', apart, 4, 'ms'),
  ];
  return process.argv.includes('--strict') && rows.includes(false) ? 1 : 0;
}

async function signed(bots: readonly Bot[], count: number): Promise<string[]> {
  const bodies: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const bot = bots[at % bots.length];
    if (bot) bodies.push(await signOrder(bot));
  }
  return bodies;
}

/** So many on their way at a time. Resolves when the node has all of them; they are answered when they are in blocks. */
async function send(bodies: readonly string[], post: Post, atOnce: number): Promise<{ readonly answered: Promise<unknown> }> {
  const before = sent;
  const answers: Promise<void>[] = [];
  for (const body of bodies) {
    await sentAtLeast(before + answers.length + 1 - atOnce);
    answers.push(post(body).then(expectResting));
  }
  await Promise.race([sentAtLeast(before + bodies.length), Promise.all(answers)]);
  return { answered: Promise.all(answers) };
}

async function sentAtLeast(count: number): Promise<void> {
  while (sent < count) await new Promise<void>((resolve) => (onSent = resolve));
}

function expectResting(answer: string): void {
  if (!answer.includes('resting')) throw new Error(answer);
}

function countSent(): void {
  proxy.onRequest((body) => {
    sent += JSON.stringify(body).split('eth_sendRawTransaction').length - 1;
    onSent();
    return undefined;
  });
}

/** Per order: what the node is asked about the trader until it is handed the transaction. */
async function questions(bot: Bot, post: Post): Promise<number> {
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
    await (
      await send([await signOrder(bot)], post, 1)
    ).answered;
  }
  stop();
  return asked / COUNTED;
}

interface Spent {
  readonly cpuMs: number;
  readonly ms: number;
}

/** Milliseconds of an order (medians of blocks), and of a second without requests. */
async function processorTime(on: Stage, bots: readonly Bot[], post: Post) {
  const [together, apart, idle]: [Spent[], Spent[], Spent[]] = [[], [], []];
  const block = async (atOnce: number): Promise<Spent> => {
    const bodies = await signed(bots, BLOCK);
    let answered: Promise<unknown> = Promise.resolve();
    const spent = await spend(on, async () => {
      ({ answered } = await send(bodies, post, atOnce));
      await systemClock.sleep(SETTLE_MS);
    });
    await on.venue({ kind: 'pause', paused: false });
    await answered;
    await systemClock.sleep(MINE_MS);
    await on.venue({ kind: 'pause', paused: true });
    return spent;
  };
  for (let turn = 0; turn < BLOCKS; turn += 1) {
    idle.push(await spend(on, () => systemClock.sleep(IDLE_MS)));
    if (turn === 0 && profile !== null) await on.usage({ profile });
    together.push(await block(AT_ONCE));
    if (turn === 0 && profile !== null) await on.usage({ profile });
    if (turn % 2 === 0) apart.push(await block(1));
  }
  const perMs = quantile(
    idle.map(({ cpuMs, ms }) => cpuMs / ms),
    0.5,
  );
  const costOf = (blocks: readonly Spent[]): number =>
    quantile(
      blocks.map(({ cpuMs, ms }) => (cpuMs - ms * perMs) / BLOCK),
      0.5,
    );
  return { together: costOf(together), apart: costOf(apart), idle: perMs * 1000 };
}

async function spend(on: Stage, work: () => Promise<void>): Promise<Spent> {
  const { cpu } = await on.usage();
  const since = performance.now();
  await work();
  const ms = performance.now() - since;
  return { cpuMs: ((await on.usage()).cpu - cpu) / 1000, ms };
}

function row(name: string, value: number, atMost: number, unit: string): boolean {
  const isMet = value <= atMost;
  console.log(`${name.padEnd(70)} ${value.toFixed(2).padStart(8)} ${unit.padEnd(4)} at most ${atMost}  ${isMet ? 'met' : 'MISSED'}`);
  return isMet;
}
