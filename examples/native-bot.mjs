// Opens BTC natively, moves its stop loss, closes it. Against a running sandbox (npm start):
//   node examples/native-bot.mjs [http://127.0.0.1:8080]
import { nativeClient } from './native-client.mjs';

const url = process.argv[2] ?? 'http://127.0.0.1:8080';
const chain = 'arbitrum-sepolia';
const { chains, accounts } = await (await fetch(`${url}/sandbox`)).json();
const account = (role) => accounts.find((each) => each.role === role);
const client = await nativeClient({
  url,
  chain,
  agentKey: account('agent').privateKey,
  trader: account('trader').address,
  rpcUrl: chains.find((each) => each.chain === chain).rpcUrl,
});

const order = await client.create({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10' });
console.log(`order ${order.id}: ${order.status} ${order.fill?.size} at ${order.fill?.price}`);
const { positionId } = order.fill;
await client.protect(positionId, { sl: (Number(order.fill.price) * 0.95).toFixed(2) });
console.log(`stop loss moved`);
const closed = await client.close(positionId);
console.log(`close ${closed.id}: ${closed.status} at ${closed.fill?.price}`);
client.end();
