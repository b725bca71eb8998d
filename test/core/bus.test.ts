import { createBus } from '../../core/stream/bus.js';

interface Events {
  tick: number;
}

describe('the event bus', () => {
  it('calls every listener in order until it unsubscribes', () => {
    const bus = createBus<Events>(() => undefined);
    const received: string[] = [];
    bus.on('tick', (n) => received.push(`a${n}`));
    const leave = bus.on('tick', (n) => received.push(`b${n}`));
    bus.emit('tick', 1);
    leave();
    bus.emit('tick', 2);
    expect(received).toEqual(['a1', 'b1', 'a2']);
  });

  it('reports a listener that throws and goes on', () => {
    const faults: unknown[] = [];
    const bus = createBus<Events>((kind, error) => faults.push([kind, (error as Error).message]));
    const received: number[] = [];
    bus.on('tick', () => {
      throw new Error('broken');
    });
    bus.on('tick', (n) => received.push(n));
    bus.emit('tick', 7);
    expect(received).toEqual([7]);
    expect(faults).toEqual([['tick', 'broken']]);
  });

  it('lets a listener unsubscribe while it is called', () => {
    const bus = createBus<Events>(() => undefined);
    const received: string[] = [];
    const leave = bus.on('tick', () => (received.push('once'), leave()));
    bus.on('tick', () => received.push('always'));
    bus.emit('tick', 1);
    bus.emit('tick', 2);
    expect(received).toEqual(['once', 'always', 'always']);
  });
});
