import { currentDelegate, delegateFor, forgetDelegate, freshDelegate, MAX_REMEMBERED_DELEGATES } from '../../../core/access/delegation.js';
import type { Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const address = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;
const TRADER = address(1);
const [AGENT, OTHER] = [address(2), address(3)];

/** A chain whose answers come when the test lets them. */
function createSlot() {
  const clock = createManualClock();
  const slot = { delegate: null as Address | null, isDown: false, reads: 0, gate: Promise.resolve() };
  const delegateOf = async (): Promise<Address | null> => {
    slot.reads += 1;
    const answer = slot.delegate;
    await slot.gate;
    if (slot.isDown) throw new Error('connection refused');
    return answer;
  };
  const venue = { clock, chain: { delegateOf } } as unknown as Venue;
  const hold = (): (() => void) => {
    let open = (): void => undefined;
    slot.gate = new Promise((resolve) => (open = resolve));
    return open;
  };
  return { clock, slot, venue, hold };
}

describe('the delegate of a trader', () => {
  it('is read once for callers who ask at the same time', async () => {
    const { venue, slot, hold } = createSlot();
    const open = hold();
    const answers = Array.from({ length: 50 }, () => currentDelegate(venue, TRADER));
    slot.delegate = AGENT;
    open();
    expect(new Set(await Promise.all(answers))).toEqual(new Set([null]));
    expect(slot.reads).toBe(1);
  });

  it('is cached for less than ten seconds, counted from the request to the node', async () => {
    const { venue, slot, clock, hold } = createSlot();
    slot.delegate = AGENT;
    const open = hold();
    const first = currentDelegate(venue, TRADER);
    clock.advance(4_000);
    open();
    expect(await first).toBe(AGENT);
    slot.delegate = null;
    clock.advance(5_999);
    expect(await delegateFor(venue, TRADER, AGENT)).toBe(AGENT);
    clock.advance(1);
    expect(await delegateFor(venue, TRADER, AGENT)).toBeNull();
    expect(slot.reads).toBe(2);
  });

  it('is never confirmed from an expired cache while the node is down', async () => {
    const { venue, slot, clock } = createSlot();
    slot.delegate = AGENT;
    await currentDelegate(venue, TRADER);
    slot.isDown = true;
    clock.advance(10_000);
    await expect(currentDelegate(venue, TRADER)).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    slot.isDown = false;
    expect(await currentDelegate(venue, TRADER)).toBe(AGENT);
  });

  it('is read again at once when a caller needs another delegate; such callers share one request', async () => {
    const { venue, slot } = createSlot();
    slot.delegate = OTHER;
    expect(await delegateFor(venue, TRADER, AGENT)).toBe(OTHER);
    expect(slot.reads).toBe(1);
    slot.delegate = AGENT;
    expect(await Promise.all(Array.from({ length: 20 }, () => delegateFor(venue, TRADER, AGENT)))).toEqual(Array(20).fill(AGENT));
    expect(slot.reads).toBe(2);
    await delegateFor(venue, TRADER, AGENT);
    expect(slot.reads).toBe(2);
  });

  it('is not read again by a caller that needs another delegate and joins a request in flight', async () => {
    const { venue, slot, hold } = createSlot();
    slot.delegate = OTHER;
    const open = hold();
    const answers = [currentDelegate(venue, TRADER), delegateFor(venue, TRADER, AGENT)];
    open();
    expect([await Promise.all(answers), slot.reads]).toEqual([[OTHER, OTHER], 1]);
  });

  it('is dropped from the cache on demand, also while a request is in flight', async () => {
    const { venue, slot, hold } = createSlot();
    const open = hold();
    const old = currentDelegate(venue, TRADER);
    slot.delegate = AGENT;
    forgetDelegate(venue, TRADER);
    const young = currentDelegate(venue, TRADER);
    open();
    expect([await old, await young, await currentDelegate(venue, TRADER)]).toEqual([null, AGENT, AGENT]);
    expect(slot.reads).toBe(2);
  });

  it('is read again for decisions that must not use the cache', async () => {
    const { venue, slot } = createSlot();
    await currentDelegate(venue, TRADER);
    slot.delegate = AGENT;
    expect(await freshDelegate(venue, TRADER)).toBe(AGENT);
    expect(await currentDelegate(venue, TRADER)).toBe(AGENT);
  });

  it('is cached for a bounded number of traders', async () => {
    const { venue, slot } = createSlot();
    await currentDelegate(venue, TRADER);
    for (let n = 0; n < MAX_REMEMBERED_DELEGATES; n += 1) await currentDelegate(venue, address(100 + n));
    const before = slot.reads;
    await currentDelegate(venue, address(100 + MAX_REMEMBERED_DELEGATES - 1));
    expect(slot.reads).toBe(before);
    await currentDelegate(venue, TRADER);
    expect(slot.reads).toBe(before + 1);
  });
});
