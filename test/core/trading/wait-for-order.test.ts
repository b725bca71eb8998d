import { getEventListeners, setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { Caller } from '../../../core/access/caller.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { createBus } from '../../../core/stream/bus.js';
import { MAX_WAIT_SECONDS, waitForOrder } from '../../../core/trading/wait-for-order.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const caller = { via: 'agent', agent: '0x01', trader: '0x02' } as unknown as Caller;

/** A gateway with one pending order, and requests that wait for it. */
function createWaiting() {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // as app/lifecycle.ts does
  const bus = createBus<{ journal: { entries: Iterable<unknown> } }>((_kind, error) => {
    throw error;
  });
  const order = {
    status: 'pending',
    price: 0n,
    sl: 0n,
    tp: 0n,
    leverage: 1n,
    slippageP: 0n,
    sizeCollateral: 1n,
    sizeToken: null,
    fill: null,
  };
  const account = { order: () => Promise.resolve({ id: 1n, order }), positionIds: () => Promise.resolve(new Map()) };
  const gateway = { bus, stopping: stopping.signal, store: { account } } as unknown as Gateway;
  const feed = { config: () => ({ collaterals: [], pairs: [] }) };
  const venue = { definition: { slug: 'base' }, clock: createManualClock(), feed } as unknown as Venue;
  const ask = async () => {
    const client = new AbortController();
    const asked = { isWaiting: false, isAnswered: false, leave: () => client.abort() };
    const onApplied = () => void (asked.isWaiting = true);
    void waitForOrder(gateway, venue, caller, '1', { seconds: MAX_WAIT_SECONDS, signal: client.signal, onApplied }).then(
      () => (asked.isAnswered = true),
    );
    await turn();
    return asked;
  };
  const settle = async () => {
    let looks = 0;
    function* entries() {
      looks += 1;
      yield { chain: 'base', fact: { kind: 'order', id: 1n, order: { status: 'filled' } } };
    }
    bus.emit('journal', { entries: { [Symbol.iterator]: entries } });
    await turn();
    return looks;
  };
  return { ask, settle, stopping: stopping.signal };
}

describe('requests that wait for an order', () => {
  it('are sixteen of a caller at once; another one waits when one has left', async () => {
    const { ask } = createWaiting();
    const first = await ask();
    for (let others = 0; others < 15; others += 1) expect(await ask()).toMatchObject({ isWaiting: true, isAnswered: false });
    expect(await ask()).toMatchObject({ isWaiting: false, isAnswered: true });
    first.leave();
    await turn();
    expect(await ask()).toMatchObject({ isWaiting: true, isAnswered: false });
    expect(await ask()).toMatchObject({ isWaiting: false, isAnswered: true });
  });

  it('are answered when it settles, although another one has left', async () => {
    const { ask, settle } = createWaiting();
    const [first, second] = [await ask(), await ask()];
    first.leave();
    await turn();
    expect([first.isAnswered, second.isAnswered]).toEqual([true, false]);
    expect(await settle()).toBe(1);
    expect(second.isAnswered).toBe(true);
  });

  it('leave nothing behind: events are no longer looked through, and nothing listens for the shutdown', async () => {
    const { ask, settle, stopping } = createWaiting();
    await ask();
    expect(getEventListeners(stopping, 'abort')).toHaveLength(1);
    expect(await settle()).toBe(1);
    expect(getEventListeners(stopping, 'abort')).toHaveLength(0);
    expect(await settle()).toBe(0);
  });
});
