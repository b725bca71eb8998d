import { createLifecycle } from '../../app/lifecycle.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { until } from '../harness/time/eventually.js';
import { createManualClock } from '../harness/time/manual-clock.js';

describe('the end of a program', () => {
  it('leaves a part behind that does not stop in time, and stops the others', async () => {
    const [clock, log] = [createManualClock(), createRecordedLog()];
    const lifecycle = createLifecycle(log, new AbortController(), clock);
    const stopped: string[] = [];
    const stop = (part: string): void => void stopped.push(part);
    await lifecycle.start('first', () => 'first', stop);
    await lifecycle.start(
      'stuck',
      () => 'stuck',
      () => new Promise(() => undefined),
      { withinMs: 2_000 },
    );
    await lifecycle.start('last', () => 'last', stop);
    const ended = lifecycle.end();
    await until(() => clock.pending === 1);
    expect(stopped).toEqual(['last']);
    clock.advance(2_000);
    await ended;
    expect(stopped).toEqual(['last', 'first']);
    expect(log.entries).toContainEqual(
      expect.objectContaining({ event: 'lifecycle.left-behind', fields: { part: 'stuck', withinMs: 2_000 } }),
    );
  });
});
