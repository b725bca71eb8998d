import { createBus } from '../../core/bus.js';

interface Events {
  tick: number;
}

describe('the event bus', () => {
  it('tells every listener in order until it leaves', () => {
    const bus = createBus<Events>(() => undefined);
    const heard: string[] = [];
    bus.on('tick', (n) => heard.push(`a${n}`));
    const leave = bus.on('tick', (n) => heard.push(`b${n}`));
    bus.emit('tick', 1);
    leave();
    bus.emit('tick', 2);
    expect(heard).toEqual(['a1', 'b1', 'a2']);
  });

  it('reports a listener that throws and goes on', () => {
    const faults: unknown[] = [];
    const bus = createBus<Events>((kind, error) => faults.push([kind, (error as Error).message]));
    const heard: number[] = [];
    bus.on('tick', () => {
      throw new Error('broken');
    });
    bus.on('tick', (n) => heard.push(n));
    bus.emit('tick', 7);
    expect(heard).toEqual([7]);
    expect(faults).toEqual([['tick', 'broken']]);
  });

  it('lets a listener leave while it is being told', () => {
    const bus = createBus<Events>(() => undefined);
    const heard: string[] = [];
    const leave = bus.on('tick', () => (heard.push('once'), leave()));
    bus.on('tick', () => heard.push('always'));
    bus.emit('tick', 1);
    bus.emit('tick', 2);
    expect(heard).toEqual(['once', 'always', 'always']);
  });
});
