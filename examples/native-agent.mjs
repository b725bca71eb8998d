// A native agent with the typed client: opens BTC, moves its stop loss, closes it. Against a running sandbox (npm start):
//   node examples/native-agent.mjs [http://127.0.0.1:8080]
// The agent signs each request and each transaction itself. Before it signs a transaction, the client decodes it and compares it with
// what was asked for: a gateway that lies gets no signature.
import { createClient } from '@diamond-gateway/client';

const url = process.argv[2] ?? 'http://127.0.0.1:8080';
const chain = 'arbitrum-sepolia';

// In the sandbox keys and node are published. Elsewhere the key is yours, and so is the node.
const { chains, accounts } = await (await fetch(`${url}/sandbox`)).json();
const client = createClient({
  url,
  chain,
  agent: accounts.find(({ role }) => role === 'agent').privateKey,
  rpc: chains.find((each) => each.chain === chain).rpcUrl,
  limits: { maxCollateral: '500' }, // USDC per order at most: bounds a market order whatever price the gateway names
});

// 1. What would the order get now?
const asked = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10' };
const quote = await client.quoteOrder(asked);
console.log(`quote: ${quote.expectedPrice}, collateral ${quote.collateralNeeded} USDC`);

// 2. Prepare, verify, sign, send, wait: `execute` does all of it. The steps one by one are client.prepare, verify, send and wait.
const order = await client.execute('createOrder', asked);
if (order.status !== 'filled') throw new Error(`the order is ${order.status}: ${order.reason}`);
console.log(`order ${order.id}: ${order.status} ${order.fill.size} at ${order.fill.price}`);

// 3. A stop loss five percent below the fill.
const id = order.fill.positionId;
await client.execute('updatePosition', { id, sl: (Number(order.fill.price) * 0.95).toFixed(2) });
const { data: positions } = await client.listPositions();
console.log(`stop loss at ${positions.find((position) => position.id === id).sl}`);

// 4. Close it.
const closed = await client.execute('closePosition', { id });
console.log(`close ${closed.id}: ${closed.status} at ${closed.fill.price}`);
