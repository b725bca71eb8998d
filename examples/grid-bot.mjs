// A grid of buy orders below the price, each with a take profit one step above it. Kill it at any moment and start it again: no order
// is placed twice. Against a running sandbox (npm start); Ctrl-C ends it, its orders stay:
//   node examples/grid-bot.mjs [http://127.0.0.1:8080]
//
// It stores nothing. The cloid of an order follows from its line and its round, so the venue itself remembers what was placed: an order
// whose cloid is known is never sent again, and one that is sent twice because an answer got lost is refused the second time.
import { createHash } from 'node:crypto';
import { ExchangeClient, HttpTransport, InfoClient } from '@nktkas/hyperliquid';
import { privateKeyToAccount } from 'viem/accounts';

const url = process.argv[2] ?? 'http://127.0.0.1:8080';
const { HL_USER, HL_AGENT_KEY, GRID_STEP = '1000', GRID_LINES = '4', GRID_PAUSE_MS = '1000' } = process.env;
const [coin, size, step, lines] = ['BTC', '0.01', Number(GRID_STEP), Number(GRID_LINES)];

const { accounts } = await (await fetch(`${url}/sandbox`)).json();
const account = (role) => accounts.find((each) => each.role === role);
const user = HL_USER ?? account('hl-trader').address;
const transport = new HttpTransport({ apiUrl: `${url}/hl/arbitrum-sepolia/`, timeout: 60_000 });
const info = new InfoClient({ transport });
const exchange = new ExchangeClient({ transport, wallet: privateKeyToAccount(HL_AGENT_KEY ?? account('hl-agent').privateKey) });
const a = (await info.meta()).universe.findIndex(({ name }) => name === coin);

/** 16 bytes, the same at every start. */
const cloidOf = (...words) =>
  `0x${createHash('sha256')
    .update(['grid', coin, ...words].join(':'))
    .digest('hex')
    .slice(0, 32)}`;
const statusOf = async (cloid) => (await info.orderStatus({ user, oid: cloid })).order?.status ?? null;

/** The round that a line is in: rounds before it ended with a take profit, or were canceled by hand. */
const rounds = new Map();
async function nextOrder(line) {
  for (let round = rounds.get(line) ?? 0; ; round += 1) {
    rounds.set(line, round);
    const [entry, exit] = [cloidOf('entry', line, round), cloidOf('exit', line, round)];
    const status = await statusOf(entry);
    if (status === null) return { entry, exit, round };
    // An entry that got anything is over once its take profit is: one that got less than it asked for ends `canceled`. Right after the
    // fill the take profit may not be listed yet.
    const last = status === 'open' ? status : ((await statusOf(exit)) ?? (status === 'filled' ? 'open' : status));
    if (last === 'open') return null;
  }
}

async function place(line, { entry, exit, round }) {
  const target = String(line + step);
  const orders = [
    { a, b: true, p: String(line), s: size, r: false, t: { limit: { tif: 'Gtc' } }, c: entry },
    { a, b: false, p: target, s: size, r: true, t: { trigger: { isMarket: true, triggerPx: target, tpsl: 'tp' } }, c: exit },
  ];
  try {
    await exchange.order({ orders, grouping: 'normalTpsl' });
    console.log(`line ${line}, round ${round}: placed`);
  } catch (error) {
    // Refused, or the answer got lost: the next look at the venue shows which.
    console.error(`line ${line}, round ${round}: ${error.message}`);
  }
}

console.log(`grid of ${coin}: ${lines} lines, every ${step}`);
for (;;) {
  const mid = Number((await info.allMids())[coin]);
  const highest = Math.floor(mid / step) * step;
  for (let at = 0; at < lines; at += 1) {
    const next = await nextOrder(highest - at * step);
    if (next !== null) await place(highest - at * step, next);
  }
  await new Promise((resolve) => setTimeout(resolve, Number(GRID_PAUSE_MS)));
}
