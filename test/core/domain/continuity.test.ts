import { suspicionOf, verdictOf, type DatabasePosition } from '../../../core/domain/continuity.js';

const POSITION: DatabasePosition = {
  ...{ system: '7', timeline: '00000001', log: 1_000n, instance: 'a' },
  ...{ counter: 5n, openReview: 0n, loss: 0n },
};
const BEFORE = { position: POSITION, counter: 5n, review: 3n, loss: 0n };

describe('what makes a database suspect', () => {
  it.each<[string, Partial<DatabasePosition>, string | null]>([
    ['nothing', {}, null],
    ['more than there was', { log: 2_000n, counter: 6n }, null],
    ['a review that this replica took part in', { openReview: 3n }, null],
    ['a service that gives no position', { system: null, timeline: null, log: null }, null],
    ['other tables', { instance: 'b' }, 'it is another database'],
    ['a missing counter', { counter: null }, 'what this replica wrote is missing'],
    ['an older counter', { counter: 4n }, 'what this replica wrote is missing'],
    ['another server', { system: '8' }, 'it is another server'],
    ['a promoted server', { timeline: '00000002' }, 'another server was promoted'],
    ['a log that went back', { log: 999n }, 'its log of writes went back'],
    ['a review of another replica', { openReview: 4n }, 'another replica suspects it'],
    ['a loss that another replica proved', { loss: 1n }, 'another replica suspects it'],
  ])('%s', (_name, changes, reason) => {
    expect(suspicionOf(BEFORE, { ...POSITION, ...changes })?.reason ?? null).toBe(reason);
  });

  it('is looked into by this replica, unless another one has begun', () => {
    expect(suspicionOf(BEFORE, { ...POSITION, timeline: '00000002', openReview: 4n })?.joins).toBe(false);
    expect(suspicionOf(BEFORE, { ...POSITION, openReview: 4n })?.joins).toBe(true);
  });
});

describe('the verdict of a review', () => {
  const report = (from: number | null, to = from) => ({ replica: 'r', missing: from === null ? null : { from, to: to ?? from } });

  it('is no loss while every replica finds what it remembers', () => {
    expect(verdictOf([], 0)).toBeNull();
    expect(verdictOf([report(null), report(null)], 0)).toBeNull();
  });

  it('is a loss since the first missing commit of any replica', () => {
    expect(verdictOf([report(50, 60), report(null), report(40, 45)], 0)).toEqual({ from: 40, isNew: true });
  });

  it('is the loss that is known where nothing later is missing', () => {
    expect(verdictOf([report(50, 60)], 60)).toEqual({ from: 50, isNew: false });
    expect(verdictOf([report(50, 61)], 60)).toEqual({ from: 50, isNew: true });
  });
});
