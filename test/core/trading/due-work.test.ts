import type { Gateway, GatewayEvents, Venue } from '../../../core/gateway.js';
import type { DueWork } from '../../../core/ports/store.js';
import { createBus } from '../../../core/stream/bus.js';
import { LOOK_MS, watchDueWork } from '../../../core/trading/due-work.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';
import { NOTHING_DUE } from '../../harness/database/nothing-due.js';

const PAUSED: DueWork = { ...NOTHING_DUE, switches: [{ wallet: null, mode: 'paused', reason: null, isRetiring: false, changedAt: 1 }] };

interface Question {
  readonly answer: (due: DueWork) => void;
  readonly fail: (error: Error) => void;
}

interface Watched {
  readonly clock: ManualClock;
  /** What the database was asked, in order; each waits for its answer. */
  readonly asked: Question[];
  readonly published: GatewayEvents['due'][];
  readonly log: ReturnType<typeof createRecordedLog>;
  readonly stop: () => Promise<void>;
}

function watch(): Watched {
  const [clock, log] = [createManualClock(), createRecordedLog()];
  const bus = createBus<GatewayEvents>((_kind, error) => {
    throw error;
  });
  const [asked, published]: [Question[], GatewayEvents['due'][]] = [[], []];
  const due = (): Promise<DueWork> => new Promise((answer, fail) => asked.push({ answer, fail }));
  const venue = { clock, log, relayer: null, definition: { slug: 'base' } } as unknown as Venue;
  bus.on('due', (event) => published.push(event));
  return { clock, asked, published, log, stop: watchDueWork({ store: { due }, bus } as unknown as Gateway, venue) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function answer({ asked }: Watched, at: number, due: DueWork): Promise<void> {
  asked[at]?.answer(due);
  await settled();
}

describe('the look at what is due', () => {
  it('goes on beside one that the database does not answer: a pause is seen within a second all the same', async () => {
    const watched = watch();
    watched.clock.advance(2 * LOOK_MS);
    await answer(watched, 1, PAUSED);
    expect(watched.published.map(({ due }) => due)).toEqual([PAUSED]);
    watched.clock.advance(LOOK_MS);
    await answer(watched, 2, NOTHING_DUE);
    expect(watched.published.map(({ due }) => due)).toEqual([PAUSED, NOTHING_DUE]);
    // What the first one would have said is older than what is known.
    await answer(watched, 0, PAUSED);
    expect(watched.published).toHaveLength(2);
    await watched.stop();
  });

  it('does not take more connections from a database that answers nothing', async () => {
    const watched = watch();
    watched.clock.advance(60 * LOOK_MS);
    expect(watched.asked).toHaveLength(2);
    watched.asked.forEach(({ fail }) => fail(new Error('it does not answer')));
    await settled();
    expect(watched.log.entries.filter(({ event }) => event === 'due-work.not-read')).toHaveLength(1);
    watched.clock.advance(LOOK_MS);
    expect(watched.asked).toHaveLength(3);
    await answer(watched, 2, NOTHING_DUE);
    expect(watched.published).toHaveLength(1);
    await watched.stop();
  });

  it('ends with what is under way, and asks nothing afterwards', async () => {
    const watched = watch();
    watched.clock.advance(LOOK_MS);
    const stopped = watched.stop();
    await answer(watched, 0, NOTHING_DUE);
    await stopped;
    watched.clock.advance(10 * LOOK_MS);
    expect(watched.asked).toHaveLength(1);
  });
});
