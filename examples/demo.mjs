// npm run demo, against a running sandbox (npm start): both APIs trade side by side, each step with its latency.
// It ends with an error if any step fails. Another address: npm run demo -- http://127.0.0.1:9090
import '../scripts/preflight.mjs';

const url = (process.argv[2] ?? 'http://127.0.0.1:8080').replace(/\/+$/, '');
const chain = 'arbitrum-sepolia';
const loading = import('@diamond-gateway/client'); // loads while the sandbox is asked
loading.catch(() => undefined);
const { chains, accounts } = await readSandbox();
const account = (role) => accounts.find((each) => each.role === role);

/** What keeps the demo from running, in a sentence that says what to do. */
function give(up) {
  console.error(up);
  process.exit(1);
}

async function readSandbox() {
  const [health, sandbox] = await Promise.all(['/health', '/sandbox'].map((path) => fetch(url + path).catch(() => null)));
  if (health === null) give(`No gateway answers at ${url}: run npm start in another terminal, and wait until it says that it is ready.`);
  const { mode } = await health.json().catch(() => ({}));
  if (health.status === 503) give(`The gateway at ${url} is still starting: wait until it says that it is ready.`);
  if (mode === undefined) give(`Another program answers at ${url}: give the address that npm start prints, npm run demo -- <address>.`);
  if (mode !== 'sandbox') give(`The gateway at ${url} is one of production: the demo trades in a sandbox only (npm start).`);
  if (!sandbox.ok) give(`The sandbox at ${url} answers local programs only: run the demo on the same machine.`);
  return sandbox.json();
}

// The native API: an agent that signs and sends its own transactions.
async function nativeSide() {
  const { createClient } = await loading;
  const { rpcUrl } = chains.find((each) => each.chain === chain);
  const client = createClient({ url, chain, agent: account('agent').privateKey, rpc: rpcUrl, limits: { maxCollateral: '500' } });
  const order = { market: 'BTC/USD', side: 'long', size: '0.05', leverage: '10' };
  const filled = ({ status, reason, fill }) =>
    status === 'filled' ? `${shorten(fill.size)} at ${shorten(fill.price)}` : fail(`${status} ${reason}`);
  let [opened, rested] = [null, null];
  return {
    'open at the market': async () => filled((opened = await client.execute('createOrder', { ...order, type: 'market' }))),
    'rest a limit order': async () => {
      const price = shorten(Number(opened.fill.price) * 0.8);
      rested = await client.execute('createOrder', { ...order, type: 'limit', price });
      return rested.status === 'open' ? `at ${price}` : fail(rested.status);
    },
    'cancel it': async () => (await client.execute('cancelOrder', { id: rested.id })).status,
    'set a stop loss': async () => {
      const sl = shorten(Number(opened.fill.price) * 0.95);
      await client.execute('updatePosition', { id: opened.fill.positionId, sl });
      return `at ${sl}`;
    },
    'close the position': async () => filled(await client.execute('closePosition', { id: opened.fill.positionId })),
  };
}

// The facade: an unmodified client of Hyperliquid, pointed here by one URL. The relayer signs and sends.
async function facadeSide() {
  const { ExchangeClient, HttpTransport, InfoClient } = await import('@nktkas/hyperliquid');
  const { privateKeyToAccount } = await import('viem/accounts');
  const transport = new HttpTransport({ apiUrl: `${url}/hl/${chain}/`, timeout: 60_000 });
  const info = new InfoClient({ transport });
  const exchange = new ExchangeClient({ transport, wallet: privateKeyToAccount(account('hl-agent').privateKey) });
  const user = account('hl-trader').address;
  const a = (await info.meta()).universe.findIndex(({ name }) => name === 'ETH');
  const { ETH: mid } = await info.allMids();
  const price = (factor) => Number((Number(mid) * factor).toPrecision(5)).toString();
  const send = async (order) => (await exchange.order({ orders: [{ a, r: false, ...order }], grouping: 'na' })).response.data.statuses[0];
  const filled = ({ filled: fill }) => (fill ? `${fill.totalSz} at ${shorten(fill.avgPx)}` : fail('not filled within the answer'));
  const held = async () => {
    const { assetPositions } = await info.clearinghouseState({ user });
    return assetPositions.find(({ position }) => position.coin === 'ETH')?.position.szi ?? null;
  };
  const ioc = { limit: { tif: 'Ioc' } };
  let rested = null;
  return {
    'open at the market': async () => filled(await send({ b: true, p: price(1.05), s: '0.5', t: ioc })),
    'rest a limit order': async () => {
      rested = (await send({ b: true, p: price(0.8), s: '0.5', t: { limit: { tif: 'Gtc' } } })).resting;
      return `at ${price(0.8)}`;
    },
    'cancel it': async () => (await exchange.cancel({ cancels: [{ a, o: rested.oid }] })).response.data.statuses[0],
    'set a stop loss': async () => {
      const t = { trigger: { isMarket: true, triggerPx: price(0.95), tpsl: 'sl' } };
      await send({ b: false, r: true, p: price(0.9), s: await held(), t });
      return `at ${price(0.95)}`;
    },
    'close the position': async () => {
      const said = filled(await send({ b: false, r: true, p: price(0.9), s: await held(), t: ioc }));
      return (await held()) === null ? said : fail('something is left');
    },
  };
}

const shorten = (price) => String(Number(Number(price).toPrecision(6)));
function fail(why) {
  throw new Error(why);
}

const began = performance.now();
const results = [];
const WIDTH = 42;

/** Runs the steps of one side, each printed in the column of that side and reported to `onStep`. */
async function run(column, steps, onStep = () => undefined) {
  for (const [name, work] of Object.entries(steps)) {
    const since = performance.now();
    const [outcome, isOk] = await work().then(
      (said) => [said, true],
      (error) => [`FAILED: ${error.message}`, false],
    );
    const now = performance.now();
    results.push({ name, column, outcome, ms: Math.round(now - since), isOk });
    const line = isOk ? `${name}: ${outcome}`.slice(0, WIDTH - 1) : `${name}: ${outcome}`;
    console.log(
      `${((now - began) / 1000).toFixed(1).padStart(5)} s  ${column === 0 ? line.padEnd(WIDTH) : ' '.repeat(WIDTH) + line}`.trimEnd(),
    );
    onStep();
    if (!isOk) return; // the steps after it need what it made
  }
}

console.log(`Watch it: ${url}/ and ${url}/account\n`);
console.log(`         ${'native API, 0.05 BTC'.padEnd(WIDTH)}Hyperliquid client, 0.5 ETH`);
const native = await nativeSide();
let onFirst = () => undefined;
const first = new Promise((resolve) => (onFirst = resolve));
const nativeRun = run(0, native, onFirst);
// Loading the other client blocks this process for a while: the first fill is shown before.
await first;
await Promise.all([nativeRun, facadeSide().then((steps) => run(1, steps))]);

const cell = (name, column) => {
  const found = results.find((each) => each.name === name && each.column === column);
  if (found === undefined) return 'not reached';
  return found.isOk ? `${String(found.ms).padStart(5)} ms` : 'FAILED';
};
console.log(`\n${'step'.padEnd(22)}${'native API'.padStart(12)}${'Hyperliquid'.padStart(14)}`);
for (const name of Object.keys(native)) console.log(`${name.padEnd(22)}${cell(name, 0).padStart(12)}${cell(name, 1).padStart(14)}`);
const isWhole = results.length === 2 * Object.keys(native).length && results.every(({ isOk }) => isOk);
if (!isWhole) process.exitCode = 1;
console.log(`\n${isWhole ? 'Every step succeeded' : 'Some steps failed'}, in ${((performance.now() - began) / 1000).toFixed(1)} s.`);
