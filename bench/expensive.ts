import { Wallet } from 'ethers';
import { createLogger } from '../core/adapters/telemetry/log.js';
import { systemClock } from '../core/adapters/system/clock.js';
import { getCandles } from '../core/markets/get-candles.js';
import { venueOf } from '../core/gateway.js';
import { createLifecycle } from '../app/lifecycle.js';
import { textOf } from '../native-api/wire/codec.js';
import { Candles } from '../native-api/wire/markets.js';
import { readSandboxSettings } from '../sandbox/settings.js';
import { startSandbox } from '../sandbox/start.js';
import { order, orderAction, postExchange, signL1 } from '../test/harness/hyperliquid/exchange.js';
import { median } from './median.js';

/** What requests cost that a stranger may send: milliseconds each, one at a time, over real HTTP; each beside what it would cost without its bound. */
const CHAIN = 'arbitrum-sepolia';
const TIMES = 60;
const MINUTE_MS = 60_000;

const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const settings = { PORT: '0', SANDBOX_BLOCK_MS: '5000', RATE_LIMIT_IP: '1000000000' };
const generous = await startSandbox({
  settings: readSandboxSettings(settings),
  lifecycle,
  clock: systemClock,
  log,
  write: () => undefined,
});

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let n = 0; n < TIMES; n += 1) {
    const since = performance.now();
    await work();
    taken.push(performance.now() - since);
  }
  return median(taken);
}

try {
  const { gateway, url } = generous;
  const venue = venueOf(gateway, CHAIN);
  const stranger = new Wallet(Wallet.createRandom().privateKey);
  const bodies = await Promise.all(
    Array.from({ length: 2 * TIMES }, (_, n) => signL1(stranger, orderAction(order({ p: '100', s: '0.5' })), { nonce: Date.now() + n })),
  );
  const post = (): Promise<unknown> => postExchange(url, CHAIN, bodies.pop() ?? {});
  const explained = await milliseconds(post);
  Object.assign(gateway.access, { mayBeExplained: () => false });
  const plain = await milliseconds(post);

  const to = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const input = { interval: '1m', from: to - 4_999 * MINUTE_MS, to } as const;
  const bySchema = textOf(Candles);
  const whole = await milliseconds(async () => bySchema({ data: await getCandles(gateway, venue, 'BTC/USD', input) }));
  const path = `/v1/${CHAIN}/markets/BTC-USD/candles?interval=1m&from=${input.from}&to=${input.to}`;
  const served = await milliseconds(async () => (await fetch(url + path)).arrayBuffer());

  const shown = (ms: number): string => `${ms.toFixed(2)} ms`;
  console.log(`an order of an unknown signer: explained ${shown(explained)}, after the first of a minute ${shown(plain)}`);
  console.log(`5,000 candles: written by the schema ${shown(whole)} without HTTP, as served ${shown(served)} with it`);
} finally {
  await lifecycle.end();
}
process.exit();
