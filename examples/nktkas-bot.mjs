// An unmodified @nktkas/hyperliquid client: market in, limit and cancel, market out. Against a running sandbox (npm start):
//   node examples/nktkas-bot.mjs [http://127.0.0.1:8080]
import { ExchangeClient, HttpTransport, InfoClient } from '@nktkas/hyperliquid';
import { Wallet } from 'ethers';

const url = process.argv[2] ?? 'http://127.0.0.1:8080';
const { accounts } = await (await fetch(`${url}/sandbox`)).json();
const account = (role) => accounts.find((each) => each.role === role);
const user = account('hl-trader').address;

// The one line that differs from a bot on Hyperliquid.
const transport = new HttpTransport({ apiUrl: `${url}/hl/arbitrum-sepolia/`, timeout: 60_000 });
const info = new InfoClient({ transport });
const exchange = new ExchangeClient({ transport, wallet: new Wallet(account('hl-agent').privateKey) });

const { universe } = await info.meta();
const a = universe.findIndex(({ name }) => name === 'ETH');
const price = (factor) => Number((Number(mid) * factor).toPrecision(5)).toString();
const order = async (fields) => {
  const { response } = await exchange.order({ orders: [{ a, r: false, ...fields }], grouping: 'na' });
  return response.data.statuses[0];
};

const { ETH: mid } = await info.allMids();
const opened = await order({ b: true, p: price(1.05), s: '0.5', t: { limit: { tif: 'Ioc' } } });
console.log(`bought ${opened.filled.totalSz} ETH at ${opened.filled.avgPx}`);
const resting = await order({ b: true, p: price(0.8), s: '0.5', t: { limit: { tif: 'Gtc' } } });
console.log(`resting ${resting.resting.oid}`);
await exchange.cancel({ cancels: [{ a, o: resting.resting.oid }] });
console.log('canceled');
const { assetPositions } = await info.clearinghouseState({ user });
const held = assetPositions.find(({ position }) => position.coin === 'ETH').position.szi;
const closed = await order({ b: false, r: true, p: price(0.95), s: held, t: { limit: { tif: 'Ioc' } } });
console.log(`sold ${closed.filled.totalSz} ETH at ${closed.filled.avgPx}`);
