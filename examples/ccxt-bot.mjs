// An unmodified ccxt client: market in, limit and cancel, market out. Against a running sandbox (npm start):
//   node examples/ccxt-bot.mjs [http://127.0.0.1:8080]
import ccxt from 'ccxt';

const url = process.argv[2] ?? 'http://127.0.0.1:8080';
const { accounts } = await (await fetch(`${url}/sandbox`)).json();
const account = (role) => accounts.find((each) => each.role === role);

const api = `${url}/hl/arbitrum-sepolia`;
const exchange = new ccxt.hyperliquid({
  walletAddress: account('hl-trader').address,
  privateKey: account('hl-agent').privateKey,
  timeout: 60_000,
  // The lines that differ from a bot on Hyperliquid.
  urls: { api: { public: api, private: api } },
});

await exchange.loadMarkets();
const symbol = 'SOL/USDC:USDC';
const { last } = await exchange.fetchTicker(symbol);
const opened = await exchange.createOrder(symbol, 'market', 'buy', 10, last);
console.log(`bought: ${opened.filled} at ${opened.average}`);
const resting = await exchange.createOrder(symbol, 'limit', 'buy', 10, last * 0.8);
console.log(`open orders: ${(await exchange.fetchOpenOrders(symbol)).length}`);
await exchange.cancelOrder(resting.id, symbol);
console.log('canceled');
const [position] = await exchange.fetchPositions([symbol]);
const closed = await exchange.createOrder(symbol, 'market', 'sell', position.contracts, last, { reduceOnly: true });
console.log(`sold: ${closed.filled} at ${closed.average}`);
