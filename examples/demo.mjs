// npm run demo, against a running sandbox (npm start): both doors, each step with its latency. Ends with an error if any step fails.
import { ExchangeClient, HttpTransport, InfoClient } from '@nktkas/hyperliquid';
import { Wallet } from 'ethers';
import { nativeClient } from './native-client.mjs';

const url = process.argv[2] ?? 'http://127.0.0.1:8080';
const chain = 'arbitrum-sepolia';
const rows = [];

async function step(door, name, work) {
  const began = performance.now();
  try {
    const said = await work();
    rows.push({ door, step: name, ms: Math.round(performance.now() - began), outcome: said });
  } catch (error) {
    rows.push({ door, step: name, ms: Math.round(performance.now() - began), outcome: `FAILED: ${error.message}` });
    process.exitCode = 1;
  }
  const { ms, outcome } = rows.at(-1);
  console.log(`${door.padEnd(12)} ${name.padEnd(28)} ${String(ms).padStart(6)} ms   ${outcome}`);
}

function expect(holds, what) {
  if (!holds) throw new Error(what);
}

const { chains, accounts } = await (await fetch(`${url}/sandbox`)).json();
const account = (role) => accounts.find((each) => each.role === role);
const { rpcUrl } = chains.find((each) => each.chain === chain);

// The native door: an agent of its own, which signs and broadcasts.
const native = await nativeClient({ url, chain, rpcUrl, agentKey: account('agent').privateKey, trader: account('trader').address });
let position;
await step('native', 'open 0.05 BTC at the market', async () => {
  const order = await native.create({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10' });
  expect(order.status === 'filled', `the order is ${order.status}`);
  position = { id: order.fill.positionId, price: Number(order.fill.price) };
  return `filled at ${order.fill.price}`;
});
await step('native', 'move the stop loss', async () => {
  const hash = await native.protect(position.id, { sl: (position.price * 0.95).toFixed(2) });
  return `mined ${hash.slice(0, 10)}…`;
});
await step('native', 'close it', async () => {
  const order = await native.close(position.id);
  expect(order.status === 'filled', `the close is ${order.status}`);
  return `filled at ${order.fill.price}`;
});
native.end();

// The facade: an unmodified client of Hyperliquid, pointed here by one URL. The relayer signs and sends.
const transport = new HttpTransport({ apiUrl: `${url}/hl/${chain}/` });
const info = new InfoClient({ transport });
const exchange = new ExchangeClient({ transport, wallet: new Wallet(account('hl-agent').privateKey) });
const user = account('hl-trader').address;
const a = (await info.meta()).universe.findIndex(({ name }) => name === 'ETH');
const { ETH: mid } = await info.allMids();
const price = (factor) => Number((Number(mid) * factor).toPrecision(5)).toString();
const send = async (fields) => (await exchange.order({ orders: [{ a, r: false, ...fields }], grouping: 'na' })).response.data.statuses[0];

await step('hyperliquid', 'market buy 0.5 ETH', async () => {
  const { filled } = await send({ b: true, p: price(1.05), s: '0.5', t: { limit: { tif: 'Ioc' } } });
  return `filled ${filled.totalSz} at ${filled.avgPx}`;
});
let oid;
await step('hyperliquid', 'limit buy far below', async () => {
  ({ oid } = (await send({ b: true, p: price(0.8), s: '0.5', t: { limit: { tif: 'Gtc' } } })).resting);
  return `resting ${oid}`;
});
await step('hyperliquid', 'cancel it', async () => {
  await exchange.cancel({ cancels: [{ a, o: oid }] });
  return 'success';
});
await step('hyperliquid', 'flatten', async () => {
  const { assetPositions } = await info.clearinghouseState({ user });
  const { szi } = assetPositions.find((each) => each.position.coin === 'ETH').position;
  const { filled } = await send({ b: false, r: true, p: price(0.95), s: szi, t: { limit: { tif: 'Ioc' } } });
  const after = await info.clearinghouseState({ user });
  expect(!after.assetPositions.some((each) => each.position.coin === 'ETH'), 'something is left');
  return `filled ${filled.totalSz} at ${filled.avgPx}`;
});

console.log();
console.table(rows);
console.log(process.exitCode === 1 ? 'Some steps failed.' : 'Every step succeeded.');
