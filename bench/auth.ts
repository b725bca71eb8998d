import { randomBytes } from 'node:crypto';
import { privateKeyToAddress, sign } from 'viem/accounts';
import { parseSignature } from '../core/access/signature.js';
import { createLogger } from '../core/adapters/telemetry/log.js';
import { systemClock } from '../core/adapters/system/clock.js';
import type { Gateway } from '../core/gateway.js';
import { createLifecycle } from '../app/lifecycle.js';
import { readSandboxSettings } from '../sandbox/settings.js';
import { startSandbox } from '../sandbox/start.js';
import { dropCrowd, storeAgents, storeCrowd } from './auth-agents.js';
import { answerBytes, bareExpress, bareHttp, benchHost, PATHS, serve, SIGNED_OPERATION } from './bench-apis.js';
import type { Job, Signer } from './load.js';
import { quantile } from './median.js';
import { createTurns, microseconds, report } from './take-turns.js';

/** What credentials and limits cost, over real HTTP, as ratios of one run. */
const CHAIN = 'arbitrum-sepolia';
const CONNECTIONS = 50;
const MANY_AGENTS = 100_000;
const ROUNDS = 9;
const CROWDED_TURNS = 5;
const SAMPLES = 500;

const rate = (perSecond: number): string => `${Math.round(perSecond)} requests/s of one core`;

const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const unlimited = '1000000000';
const settings = readSandboxSettings({
  PORT: '0',
  SANDBOX_BLOCK_MS: '5000',
  RATE_LIMIT_IP: unlimited,
  RATE_LIMIT_AGENT: unlimited,
  RATE_LIMIT_AGENT_WRITES: unlimited,
});
const sandbox = await startSandbox({ settings, lifecycle, clock: systemClock, log, write: () => undefined });
const { gateway } = sandbox;
const apis = await serve(benchHost(gateway));
const [http, express] = [await serve(bareHttp(answerBytes())), await serve(bareExpress(new Map([[PATHS.plain, answerBytes()]])))];
const turns = await createTurns();

try {
  process.exitCode = await measure();
} finally {
  turns.stop();
  for (const each of [apis, http, express]) each.close();
  await lifecycle.end();
}
process.exit();

async function measure(): Promise<number> {
  const signers = Array.from({ length: 10 }, newSigner);
  await storeAgents(gateway, CHAIN, signers);
  const signed = { operationId: SIGNED_OPERATION, serviceName: gateway.serviceName, signers };
  const job: MakeJob = (path, count, credentials) => ({
    url: apis.url,
    path,
    count,
    connections: CONNECTIONS,
    ...(credentials ? { signed: credentials } : {}),
  });

  const rounds = await measureLimit(job, signed, signers);
  const { viem } = await turns.take({ viem: job(PATHS.viem, 300, signed) });
  const middle = (of: (round: Round) => number): number => quantile(rounds.map(of), 0.5);
  const shares = rounds.map(({ signed: reached, limit }) => reached / limit);

  const inCrowd = await measureCrowd(job(PATHS.signed, 2_500, signed));
  const hot = await measureHot();
  console.log(`\nnode:http alone        ${rate(middle(({ http: reached }) => reached))}`);
  console.log(`express alone          ${rate(middle(({ express: reached }) => reached))}`);
  console.log(`our unsigned route     ${rate(middle(({ plain }) => plain))}`);
  console.log(`one recovery           ${middle(({ recoverUs }) => recoverUs).toFixed(0)} us`);
  console.log(`share of one admission ${middle(({ admitUs }) => admitUs).toFixed(0)} us`);
  console.log(`limit L of these three ${rate(middle(({ limit }) => limit))}`);
  console.log(`signed GET             ${rate(middle(({ signed: reached }) => reached))}`);
  console.log(
    `signed GET / L         ${quantile(shares, 0.25).toFixed(2)} to ${quantile(shares, 0.75).toFixed(2)} in the middle half of the rounds`,
  );
  console.log(`verified with viem     ${rate(viem)}\n`);
  return report([
    ['signed GET / L', quantile(shares, 0.5), 0.8],
    ['signed GET / viem', middle(({ signed: reached }) => reached) / viem, 5],
    [`signed GET with ${MANY_AGENTS} agents / with 10`, inCrowd, 0.9],
    ['GET /markets / bare express', hot.markets / hot.bareMarkets, 0.8],
    ['GET /prices / bare express', hot.prices / hot.barePrices, 0.8],
    ['GET /markets/BTC-USD/book / bare express', hot.book / hot.bareBook, 0.8],
  ]);
}

interface Round {
  readonly http: number;
  readonly express: number;
  /** Our unsigned route. */
  readonly plain: number;
  readonly signed: number;
  readonly recoverUs: number;
  readonly admitUs: number;
  readonly limit: number;
}

type MakeJob = (path: string, count: number, credentials?: NonNullable<Job['signed']>) => Job;

/** Both sides of the ratio in every round, so that a busy moment of the machine is in both; the first round warms up. */
async function measureLimit(job: MakeJob, signed: NonNullable<Job['signed']>, signers: readonly Signer[]): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let turn = 0; turn <= ROUNDS; turn += 1) {
    const reached = await turns.round({
      http: { ...job(PATHS.plain, 3_000), url: http.url },
      express: { ...job(PATHS.plain, 3_000), url: express.url },
      plain: job(PATHS.plain, 3_000),
      signed: job(PATHS.signed, 2_500, signed),
    });
    const recoverUs = await timeRecovery(gateway, signers[0] ?? newSigner());
    const admitUs = await timeAdmission(gateway, signers);
    rounds.push({ ...reached, recoverUs, admitUs, limit: 1e6 / (1e6 / reached.plain + recoverUs + admitUs) });
  }
  return rounds.slice(1);
}

/** How an agent among very many fares against itself among few, a moment later each time. */
async function measureCrowd(job: Job): Promise<number> {
  const shares: number[] = [];
  for (let turn = 0; turn < CROWDED_TURNS; turn += 1) {
    await storeCrowd(gateway, CHAIN, MANY_AGENTS);
    const crowded = await turns.round({ signed: job });
    await dropCrowd(gateway);
    const alone = await turns.round({ signed: job });
    shares.push(crowded.signed / alone.signed);
  }
  return quantile(shares, 0.5);
}

/** Public reads while prices move, against the same bytes from a route that does nothing else. */
async function measureHot(): Promise<Record<'markets' | 'prices' | 'book' | 'bareMarkets' | 'barePrices' | 'bareBook', number>> {
  const [markets, prices, book] = [`/v1/${CHAIN}/markets`, `/v1/${CHAIN}/prices`, `/v1/${CHAIN}/markets/BTC-USD/book`];
  const bytesOf = async (path: string): Promise<[string, Buffer]> => {
    const answer = await fetch(sandbox.url + path);
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}`);
    return [path, Buffer.from(await answer.arrayBuffer())];
  };
  const bare = await serve(bareExpress(new Map(await Promise.all([markets, prices, book].map(bytesOf)))));
  const job = (url: string, path: string): Job => ({ url, path, count: 5_000, connections: CONNECTIONS });
  const rates = await turns.take({
    markets: job(sandbox.url, markets),
    bareMarkets: job(bare.url, markets),
    prices: job(sandbox.url, prices),
    barePrices: job(bare.url, prices),
    book: job(sandbox.url, book),
    bareBook: job(bare.url, book),
  });
  bare.close();
  return rates;
}

function newSigner(): Signer {
  const privateKey = randomBytes(32).toString('hex');
  return { privateKey, address: privateKeyToAddress(`0x${privateKey}`).toLowerCase() };
}

/**
 * Microseconds of processor time for one recovery with the fastest verifier that this machine runs. Recoveries are remembered, so that each
 * sample is recovered once: what arrives over HTTP was never seen before either.
 */
async function timeRecovery({ access: { crypto } }: Gateway, { privateKey, address }: Signer): Promise<number> {
  const samples = await Promise.all(
    Array.from({ length: 2 * SAMPLES }, async () => {
      const digest = crypto.keccak(randomBytes(32));
      const signed = await sign({ hash: `0x${Buffer.from(digest).toString('hex')}`, privateKey: `0x${privateKey}`, to: 'hex' });
      const signature = parseSignature(signed);
      if (signature === null) throw new Error('the sample is no signature');
      return { digest, signature };
    }),
  );
  const recoverAll = (from: number): void => {
    for (const { digest, signature } of samples.slice(from, from + SAMPLES))
      if (crypto.recover(digest, signature) !== address) throw new Error('the sample is signed by another key');
  };
  recoverAll(0);
  const before = process.cpuUsage();
  recoverAll(SAMPLES);
  return microseconds(process.cpuUsage(before)) / SAMPLES;
}

/** Microseconds of processor time for one request's part of a batch, as many at once as there are connections. */
async function timeAdmission({ access: { admission } }: Gateway, signers: readonly Signer[]): Promise<number> {
  let nonce = BigInt(Date.now()) * 10_000_000n;
  const batch = () =>
    Promise.all(
      Array.from({ length: CONNECTIONS }, (_, index) =>
        admission.admit({
          chain: CHAIN,
          credential: signers[index % signers.length]?.address ?? '',
          nonce: String((nonce += 1n)),
          keepUntil: Date.now() + 60_000,
          isWrite: false,
        }),
      ),
    );
  for (let turn = 0; turn < 10; turn += 1) await batch();
  const turns = 100;
  const before = process.cpuUsage();
  for (let turn = 0; turn < turns; turn += 1) await batch();
  return microseconds(process.cpuUsage(before)) / (turns * CONNECTIONS);
}
