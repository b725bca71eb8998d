import { createLogger } from '../core/adapters/telemetry/log.js';
import { systemClock } from '../core/adapters/system/clock.js';
import { createLifecycle } from '../app/lifecycle.js';
import { readSandboxSettings } from '../sandbox/settings.js';
import { startSandbox } from '../sandbox/start.js';
import { bareExpress, serve } from './bench-apis.js';
import type { Job } from './load.js';
import { createTurns, report, type Turns } from './take-turns.js';

/** What the facade's hot reads cost over real HTTP while prices move, against the same bytes from a route that does nothing else. */
const CONNECTIONS = 50;
const REQUESTS = 5_000;
const PATH = '/hl/arbitrum-sepolia/info';
const TARGET = 0.8;

const QUESTIONS = {
  allMids: { type: 'allMids' },
  meta: { type: 'meta' },
  metaAndAssetCtxs: { type: 'metaAndAssetCtxs' },
  l2Book: { type: 'l2Book', coin: 'BTC' },
} as const;
const names = Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[];

const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const settings = readSandboxSettings({ PORT: '0', SANDBOX_BLOCK_MS: '5000', RATE_LIMIT_IP: '1000000000' });
const sandbox = await startSandbox({ settings, lifecycle, clock: systemClock, log, write: () => undefined });

try {
  const turns = await createTurns();
  process.exitCode = await measure(turns).finally(() => turns.stop());
} finally {
  await lifecycle.end();
}
process.exit();

async function measure(turns: Turns): Promise<number> {
  const bytesOf = async (body: string) => Buffer.from(await (await fetch(sandbox.url + PATH, { method: 'POST', body })).arrayBuffer());
  const answers = await Promise.all(names.map(async (name) => [`/${name}`, await bytesOf(JSON.stringify(QUESTIONS[name]))] as const));
  const bare = await serve(bareExpress(new Map(answers), 'post'));
  const job = (url: string, path: string, name: keyof typeof QUESTIONS): Job => ({
    url,
    path,
    count: REQUESTS,
    connections: CONNECTIONS,
    body: JSON.stringify(QUESTIONS[name]),
  });
  const rows: [string, number, number][] = [];
  for (const name of names) {
    const rates = await turns.take({ facade: job(sandbox.url, PATH, name), bare: job(bare.url, `/${name}`, name) });
    console.log(`${name.padEnd(18)} ${Math.round(rates.facade)} against ${Math.round(rates.bare)} requests/s of one core`);
    rows.push([`${name} / bare express`, rates.facade / rates.bare, TARGET]);
  }
  bare.close();
  return report(rows);
}
