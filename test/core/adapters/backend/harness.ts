import { createBackendFeed, type BackendFeed } from '../../../../core/adapters/backend/backend-feed.js';
import { chainBySlug } from '../../../../core/chains/chains.js';
import { GatewayError } from '../../../../core/errors.js';
import { createRecordedLog, type RecordedLog } from '../../../harness/checks/recorded-log.js';
import { createManualClock, type ManualClock } from '../../../harness/time/manual-clock.js';
import { createUpstream, json, type Upstream } from './upstream.js';
import { tradingVariables, type Wire } from './wire-fixtures.js';

export interface Rig {
  readonly upstream: Upstream;
  readonly clock: ManualClock;
  readonly log: RecordedLog;
  readonly feed: BackendFeed;
  stop(): Promise<void>;
}

export const CHARTS = {
  opens: [1],
  highs: [1],
  lows: [1],
  closes: [60000, 1.1, null, 200.5],
  indexPrices: [59990, 1.1, null, 200.5],
};

/** A feed against hosts of the test's own, on a clock of the test's own; not started. */
export async function createRig(variables: (now: number) => Wire = (now) => tradingVariables({ lastRefreshed: now })): Promise<Rig> {
  const upstream = await createUpstream();
  const [clock, log] = [createManualClock(), createRecordedLog()];
  upstream.handle('/charts', (request, response) => json({ time: clock.now(), ...CHARTS })(request, response));
  upstream.handle('/trading-variables/', (request, response) => json(variables(clock.now()))(request, response));
  const feed = createBackendFeed({ chain: chainBySlug('arbitrum-sepolia'), endpoints: upstream.endpoints, clock, log, random: () => 1 });
  return {
    upstream,
    clock,
    log,
    feed,
    async stop() {
      await feed.stop();
      await upstream.stop();
    },
  };
}

/** The code and details of what is thrown, or what is returned. */
export function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, details } = error as GatewayError;
    return { code, ...details };
  }
}

/** Lets time pass until the answer is there, but not while a request to upstream is in flight: only the feed's own pauses are cut short. */
export async function whileWaiting<Answer>({ clock, upstream }: Rig, asking: Promise<Answer>): Promise<Answer> {
  const progress = { isDone: false };
  void asking.finally(() => (progress.isDone = true));
  while (!progress.isDone) {
    // No faster than real time: a question that is still on its way to the server is not in flight there yet, and must not time out.
    if (upstream.inFlight.now === 0) clock.advance(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return asking;
}
