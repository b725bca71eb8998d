import type { Gateway, GatewayEvents, Venue } from '../../core/gateway.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import { createBus, type Bus } from '../../core/stream/bus.js';
import type { Address } from '../../core/types.js';
import { watchOrders, type OrderWatch } from '../../facade/trade/send/await-orders.js';
import { comesTrue } from '../../facade/trade/send/cancel-work.js';
import { createManualClock, type ManualClock } from '../harness/time/manual-clock.js';

/** An answer that waits for what the database says. Time stands still until a test moves it. */

const TRADER: Address = '0x1';
const HOLD_MS = 6_500;

let bus: Bus<GatewayEvents>;
let clock: ManualClock;
let venue: Venue;
let stopping: AbortController;
let watch: OrderWatch;
let isTrue: boolean;
let reads: number;
/** The next answers, where they are not `isTrue`. */
let answering: Promise<boolean>[];
let waiting: Promise<boolean>;

beforeEach(async () => {
  [bus, clock, stopping] = [createBus<GatewayEvents>(() => undefined), createManualClock(), new AbortController()];
  venue = { clock } as unknown as Venue;
  watch = watchOrders({ bus, stopping: stopping.signal } as unknown as Gateway, venue, TRADER);
  [isTrue, reads, answering] = [false, 0, []];
  waiting = comesTrue({ venue, watch, end: clock.now() + HOLD_MS }, () => {
    reads += 1;
    return answering.shift() ?? Promise.resolve(isTrue);
  });
  await turn();
});
afterEach(() => watch.stop());

const turn = (): Promise<void> => new Promise(setImmediate);

async function entryOf(trader: Address): Promise<void> {
  const entry = { trader, fact: { kind: 'position' } } as JournalEntry;
  bus.emit('journal', { venue, entries: [entry] });
  await turn();
}

describe('an answer that waits', () => {
  it('looks again with every journal entry of its trader, and with no other', async () => {
    await entryOf('0x2');
    expect(reads).toBe(1);
    await entryOf(TRADER);
    expect(reads).toBe(2);
    isTrue = true;
    await entryOf(TRADER);
    expect([await waiting, clock.pending]).toEqual([true, 0]);
  });

  it('looks again after an entry that comes while it looks', async () => {
    let answer: (value: boolean) => void = () => undefined;
    answering.push(new Promise((resolve) => (answer = resolve)), Promise.resolve(true));
    await entryOf(TRADER);
    await entryOf(TRADER);
    answer(false);
    expect([await waiting, clock.pending]).toEqual([true, 0]);
  });

  it('looks again without one, because no entry says what becomes of a job', async () => {
    await clock.pass(500);
    isTrue = true;
    await clock.pass(100);
    expect(await waiting).toBe(true);
  });

  it('ends when its time is up', async () => {
    await clock.pass(HOLD_MS);
    expect(await waiting).toBe(false);
  });

  it('ends when the service stops, after one last look', async () => {
    stopping.abort();
    expect([await waiting, clock.pending]).toEqual([false, 0]);
    expect(reads).toBe(2);
  });
});
