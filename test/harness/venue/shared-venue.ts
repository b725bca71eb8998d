import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { onEndOfRun } from '../../runner/end-of-run.js';
import { BUSY_AGENTS } from '../traders/agent-trader.js';
import { eventually } from '../time/eventually.js';
import { startOwnVenue, TEST_ORACLE_MS, type TestVenue } from './own-venue.js';

/** What earlier files left open makes every block dearer, so a venue is replaced after so many files. */
const FILES_PER_VENUE = 8;
/** Files that use it follow each other; it is not kept alive for those that do not. */
const UNUSED_MS = 1_000;

let started: Promise<TestVenue> | null = null;
/** Resolves when every venue that was ended has stopped: until then the database is needed. */
let stopped: Promise<unknown> = Promise.resolve();
let files = 0;
let ending: NodeJS.Timeout | undefined;

/**
 * The venue that the test files of one worker use one after the other: for tests that need markets and fresh traders. What a file does to
 * prices, market hours, oracle, mining and node is undone before the next. What it leaves on the chain and in the database stays: count only what
 * is your own. A file that reorganises the chain, moves its time, or needs settings of its own starts its own venue with `startOwnVenue`.
 */
export async function sharedVenue(): Promise<TestVenue> {
  files += 1;
  clearTimeout(ending);
  if (files % FILES_PER_VENUE === 0) await end();
  started ??= startOwnVenue(BUSY_AGENTS);
  if (files === 1) onEndOfRun(end);
  const venue = await started;
  await restore(venue);
  return { ...venue, stop: () => rest(venue) };
}

/** Until the next file comes it makes no blocks. */
async function rest(venue: TestVenue): Promise<void> {
  await Promise.all(venue.controls.chains.map((chain) => chain.pauseMining(true)));
  ending = setTimeout(() => void end(), UNUSED_MS);
}

async function end(): Promise<void> {
  clearTimeout(ending);
  const venue = started;
  started = null;
  if (venue !== null) stopped = Promise.all([stopped, venue.then((running) => running.stop())]);
  await stopped;
}

const BASE_FEE_GWEI = 0.1;

async function restore(venue: TestVenue): Promise<void> {
  const { prices, chains } = venue.controls;
  for (const [pairIndex, market] of SANDBOX_MARKETS.entries())
    if (market !== null) {
      prices.jump(pairIndex, market.startPrice);
      prices.walk(pairIndex);
      prices.setOpen(pairIndex, null);
    }
  prices.pauseFeed(false);
  for (const chain of chains) {
    chain.setRpcFault({ mode: 'ok' });
    chain.setOraclePolicy(null, { mode: 'auto', delayMs: TEST_ORACLE_MS });
    await chain.setBaseFee(BASE_FEE_GWEI);
    await chain.pauseMining(false);
    await chain.mine(1);
  }
  await eventually(
    () => venue.get('/ready'),
    ({ status }) => status === 200,
  );
  venue.log.entries.length = 0;
}
