// Resting orders through the facade of a production gateway that runs against a sandbox's chain (docs/backup.md, the drill):
//   node examples/drill-bot.mjs <gateway> <sandbox> <file for its keys> [orders]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { ExchangeClient, HttpTransport, InfoClient } from '@nktkas/hyperliquid';
import { Wallet } from 'ethers';

const [, , url, sandbox, file, count = '10'] = process.argv;
if (!file) throw new Error('Usage: node examples/drill-bot.mjs <gateway> <sandbox> <file for its keys> [orders]');
const CHAIN = 'arbitrum-sepolia';
const transport = new HttpTransport({ apiUrl: `${url}/hl/${CHAIN}/`, timeout: 60_000 });

/** A trader with funds that has delegated to the gateway's wallet, and its agent. */
async function makeTrader() {
  const { relayer, agentNameTag } = await (await fetch(`${url}/v1/${CHAIN}`)).json();
  const body = JSON.stringify({ usdc: '1000000', delegate: relayer });
  const asked = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
  const { privateKey } = await (await fetch(`${sandbox}/sandbox/accounts`, asked)).json();
  const agent = Wallet.createRandom();
  const master = new ExchangeClient({ transport, wallet: new Wallet(privateKey) });
  await master.approveAgent({ agentAddress: agent.address, agentName: `${agentNameTag} drill` });
  writeFileSync(file, JSON.stringify({ agent: agent.privateKey, orders: 0 }), { mode: 0o600 });
}

if (!existsSync(file)) await makeTrader();
const keys = JSON.parse(readFileSync(file, 'utf8'));
const exchange = new ExchangeClient({ transport, wallet: new Wallet(keys.agent) });
const { universe } = await new InfoClient({ transport }).meta();
const a = universe.findIndex(({ name }) => name === 'BTC');
let resting = 0;
for (let at = 0; at < Number(count); at += 1) {
  // Each at a price of its own, far below the market.
  const p = String(20_000 + keys.orders);
  keys.orders += 1;
  writeFileSync(file, JSON.stringify(keys), { mode: 0o600 });
  try {
    await exchange.order({ orders: [{ a, b: true, p, s: '0.01', r: false, t: { limit: { tif: 'Gtc' } } }], grouping: 'na' });
    resting += 1;
  } catch (error) {
    console.log(error.message.split('\n')[0]);
  }
}
console.log(`${resting} of ${count} orders rest`);
