import { approveBot, createPoster, pour, signPriced, type Bot, type Post, type SignedOrder } from './relayer-bots.js';
import { createNode, createRawSender, scanBlocks, type Node } from './relayer-chain.js';
import { CHAIN, openStage, type Stage } from './relayer-stage.js';

/**
 * How many orders per second go through the facade into the node, against what the same node takes when signed transactions are sent to
 * it raw; that none is lost and none sent twice; and, with BENCH_ORDERS=50000, that the gateway's memory stays flat. `BENCH_BOT_ORDERS` is
 * how many orders a bot has under way at a time, `BENCH_PROFILE` a file for a profile of the gateway, `BENCH_VENUE_PROFILE` one for a profile
 * of the venue.
 */
const ORDERS = Number(process.env['BENCH_ORDERS'] ?? 2_000);
const profile = process.env['BENCH_PROFILE'] ?? null;
const venueProfile = process.env['BENCH_VENUE_PROFILE'] ?? null;
const TRADERS = 20;
const AT_ONCE = TRADERS * Number(process.env['BENCH_BOT_ORDERS'] ?? 5);
/** Sent between two turns of the facade, so that both meet the same machine. A turn is long: what counts is the rate that lasts, not how it begins and ends. */
const RAW = 250;
const TURN = 500;
const WARM_UP = Math.min(200, ORDERS);
const ODD_SHOWN = 3;
/** Orders between two looks at the heap. */
const CHUNK = 2_000;
/** Bytes per order that a flat heap may still seem to grow by: the noise of a collection over thousands of orders. */
const FLAT_BYTES = 64;

const stage = await openStage();
try {
  process.exitCode = await measure(stage);
} finally {
  await stage.end();
}
process.exit();

async function measure(on: Stage): Promise<number> {
  const node = createNode(on.rpcUrl);
  const url = await on.startGateway();
  const bots = await Promise.all((await on.traders(TRADERS, on.relayer)).map((trader) => approveBot(url, trader)));
  const since = (await node.blockNumber()) + 1;
  const raw = await createRawSender(on, node);
  // Connections of one turn serve the next: what a connection takes of the gateway's memory is no order's.
  const load: Load = { post: createPoster(`${url}/hl/${CHAIN}/exchange`), bots };
  const postRaw = createPoster(on.rpcUrl);
  await relay(on, node, { ...load, count: WARM_UP });
  await sendRaw(node, postRaw, raw);
  const { rate, rawRate, heaps, cpu, own } = await relayAll(on, node, load, () => sendRaw(node, postRaw, raw));
  console.log(`raw transactions into the node      ${rawRate.toFixed(0).padStart(6)} per second`);
  console.log(
    `orders through the facade           ${rate.toFixed(0).padStart(6)} per second, ${(cpu / 1000).toFixed(2)} ms of the gateway and ${(own / 1000).toFixed(2)} ms of the bots each`,
  );
  const isFast = verdict('share of the raw rate', rate / rawRate, 0.7, rate / rawRate >= 0.7);
  const isExact = await checkChain(node, on, { bots, since });
  const isFlat = heaps.length < 3 || checkHeap(heaps);
  return process.argv.includes('--strict') && !(isFast && isExact && isFlat) ? 1 : 0;
}

function verdict(name: string, value: number, bound: number, isMet: boolean): boolean {
  console.log(`${name.padEnd(35)} ${value.toFixed(2).padStart(6)}  bound ${bound}  ${isMet ? 'met' : 'MISSED'}`);
  return isMet;
}

/** Milliseconds until all of them are in blocks. */
async function sendRaw(node: Node, post: Post, raw: Awaited<ReturnType<typeof createRawSender>>): Promise<number> {
  const signed = await raw.sign(RAW);
  const started = performance.now();
  const first = await node.nonceOf(raw.address);
  await pour(signed, AT_ONCE, async (transaction) => {
    const answer = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [transaction] }));
    if (!answer.includes('"result"')) throw new Error(answer);
  });
  await node.mined(raw.address, first + RAW);
  return performance.now() - started;
}

interface Load {
  readonly post: Post;
  readonly bots: readonly Bot[];
}

/** Milliseconds until every order that was answered as resting is in a block. An answer that nothing was sent is only counted. */
async function relay(on: Stage, node: Node, { post, bots, count }: Load & { readonly count: number }) {
  const orders: SignedOrder[] = [];
  for (let at = 0; at < count; at += 1) {
    const bot = bots[at % bots.length];
    if (bot) orders.push(await signPriced(bot));
  }
  const first = await node.nonceOf(on.relayer);
  await profileBoth(on);
  const before = { gateway: (await on.usage()).cpu, venue: await venueCpu(on), own: ownCpu() };
  let [resting, odd] = [0, 0];
  const started = performance.now();
  await pour(orders, AT_ONCE, async ({ bot, price, body }) => {
    const answer = await post(body);
    if (!answer.includes('"resting"')) {
      if (odd++ < ODD_SHOWN) console.log(`answered: ${answer}`);
      return;
    }
    resting += 1;
    bot.resting.push(price);
  });
  const answeredAt = performance.now();
  await node.mined(on.relayer, first + resting);
  const took = performance.now() - started;
  const used = { cpu: (await on.usage()).cpu - before.gateway, venue: (await venueCpu(on)) - before.venue, own: ownCpu() - before.own };
  await profileBoth(on);
  return { took, answering: answeredAt - started, resting, ...used };
}

/** The first call begins, the second ends. */
async function profileBoth(on: Stage): Promise<void> {
  if (profile !== null) await on.usage({ profile });
  if (venueProfile !== null) await on.venue({ kind: 'profile', file: venueProfile });
}

async function venueCpu(on: Stage): Promise<number> {
  return (await on.venue({ kind: 'cpu' })) as number;
}

/** Microseconds of processor time of the bots. */
function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

type Turn = Awaited<ReturnType<typeof relay>> & { readonly rawTook: number };

/** Takes turns with the raw sender: what else the machine does slows both down alike. */
async function relayAll(on: Stage, node: Node, load: Load, sendRawOnes: () => Promise<number>) {
  const turns: Turn[] = [];
  const heaps: { readonly orders: number; readonly heap: number }[] = [];
  for (let [done, looked] = [0, 0]; done < ORDERS;) {
    const count = Math.min(TURN, ORDERS - done);
    turns.push({ ...(await relay(on, node, { ...load, count })), rawTook: await sendRawOnes() });
    done += count;
    if (done % CHUNK !== 0) continue;
    const { heap } = await on.usage('heap');
    if (heap !== null) heaps.push({ orders: done, heap });
    const { rate, rawRate, cpu, venue } = figuresOf(turns.slice(looked));
    looked = turns.length;
    console.log(
      `${String(done).padStart(6)} orders: ${((heap ?? 0) / 2 ** 20).toFixed(1)} MiB; the last ones ${rate.toFixed(0)} per second, ` +
        `raw ${rawRate.toFixed(0)}, ${(cpu / 1000).toFixed(1)} ms of the gateway and ${(venue / 1000).toFixed(1)} ms of the venue each`,
    );
  }
  return { ...figuresOf(turns), heaps };
}

/** Per second, and microseconds per order. */
function figuresOf(turns: readonly Turn[]) {
  const sum = (pick: (turn: Turn) => number): number => turns.reduce((total, turn) => total + pick(turn), 0);
  const resting = sum((turn) => turn.resting);
  return {
    rate: (resting / sum(({ took }) => took)) * 1000,
    rawRate: ((turns.length * RAW) / sum(({ rawTook }) => rawTook)) * 1000,
    cpu: sum(({ cpu }) => cpu) / resting,
    venue: sum(({ venue }) => venue) / resting,
    own: sum(({ own }) => own) / resting,
  };
}

/** The chain is the witness: every order that was answered as resting is in a block, once, and no other is. */
async function checkChain(
  node: Node,
  { relayer }: Stage,
  { bots, since }: { readonly bots: readonly Bot[]; readonly since: number },
): Promise<boolean> {
  const seen = await scanBlocks(node, relayer, since);
  const resting = bots.flatMap((bot) => bot.resting.map((price) => `${bot.trader.address.toLowerCase()} ${price}`));
  // Every bot's first order has the lowest price: what became of it shows what the spread takes off all of them.
  const spread = least(bots.flatMap((bot) => bot.resting)) / least(seen.orders.map(({ price }) => price));
  const [once, told] = [new Set(seen.orders.map(({ trader, price }) => `${trader} ${Math.round(price * spread)}`)), new Set(resting)];
  const lost = resting.filter((order) => !once.has(order)).length;
  const untold = [...once].filter((order) => !told.has(order)).length;
  const twice = seen.orders.length - once.size;
  const signed = bots.reduce((sum, { prices }) => sum + prices.length, 0);
  console.log(
    `${signed} orders signed, ${resting.length} answered as resting; in blocks: ${seen.transactions} transactions, ${seen.tags.size} tags, ${seen.reverted} reverted`,
  );
  const isExact = lost + untold + twice + seen.reverted === 0 && seen.tags.size === signed && seen.transactions === signed;
  console.log(`lost ${lost}, sent twice ${twice}, sent untold ${untold}`.padEnd(35), isExact ? 'met' : 'MISSED');
  return isExact;
}

/** The slope of a straight line through the looks, without the first, by which everything has been used once. */
function checkHeap(heaps: readonly { readonly orders: number; readonly heap: number }[]): boolean {
  const looks = heaps.slice(1);
  const [x, y] = [mean(looks.map(({ orders }) => orders)), mean(looks.map(({ heap }) => heap))];
  const above = looks.reduce((sum, { orders, heap }) => sum + (orders - x) * (heap - y), 0);
  const below = looks.reduce((sum, { orders }) => sum + (orders - x) ** 2, 0);
  const slope = above / below;
  return verdict('heap growth, bytes per order', slope, FLAT_BYTES, slope <= FLAT_BYTES);
}

/** Of any number: there are too many for the arguments of one call. */
function least(values: readonly number[]): number {
  return values.reduce((lowest, value) => Math.min(lowest, value), Infinity);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
