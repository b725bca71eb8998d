import { setImmediate as turn } from 'node:timers/promises';
import type { Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { MOST_WAITING, SLOTS_PER_TRADER, withSlot } from '../../../facade/trade/plan/simulation-slots.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';

const BUSY: Address = `0x${'11'.repeat(20)}`;
const QUIET: Address = `0x${'22'.repeat(20)}`;

interface Stage {
  readonly clock: ManualClock;
  readonly running: string[];
  begin(trader: Address, name: string): { readonly done: Promise<string>; end(): void };
}

function newStage(): Stage {
  const clock = createManualClock();
  const venue = { clock } as unknown as Venue;
  const running: string[] = [];
  return {
    clock,
    running,
    begin(trader, name) {
      let end: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const done = withSlot(venue, trader, async () => {
        running.push(name);
        await ended;
        return name;
      });
      return { done, end };
    },
  };
}

describe('what a trader has simulated', () => {
  it('runs at once up to a bound, in its order after that, and never delays another trader', async () => {
    const stage = newStage();
    const first = Array.from({ length: SLOTS_PER_TRADER }, (_, at) => stage.begin(BUSY, `first ${at}`));
    const second = stage.begin(BUSY, 'second');
    stage.begin(BUSY, 'third');
    stage.begin(QUIET, 'quiet').end();
    expect(stage.running).toHaveLength(SLOTS_PER_TRADER + 1);
    expect(stage.running.at(-1)).toBe('quiet');
    first[0]?.end();
    await first[0]?.done;
    await turn();
    expect(stage.running.slice(-1)).toEqual(['second']);
    second.end();
    await second.done;
    await turn();
    expect(stage.running.slice(-1)).toEqual(['third']);
  });

  it('waits for a while, and is then asked to come back', async () => {
    const stage = newStage();
    for (let at = 0; at < SLOTS_PER_TRADER; at += 1) stage.begin(BUSY, 'first');
    const late = expect(stage.begin(BUSY, 'late').done).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    stage.clock.advance(5_000);
    await late;
    for (let at = 0; at < MOST_WAITING; at += 1) void stage.begin(BUSY, 'waiting').done.catch(() => undefined);
    await expect(stage.begin(BUSY, 'too many').done).rejects.toMatchObject({ code: 'RATE_LIMITED', details: { scope: 'agent-writes' } });
    stage.clock.advance(5_000);
  });
});
