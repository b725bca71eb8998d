import { preferredWait } from '../../native-api/router.js';

describe('the wish to wait', () => {
  it.each([
    ['wait=5', 5],
    ['wait=0', 0],
    ['WAIT = 3', 3],
    ['wait="4"', 4],
    ['wait=100', 8],
    ['wait=99999999', 8],
    ['respond-async, wait=2', 2],
    ['respond-async; note="a, wait=7", wait=2', 2],
    ['wait=1, wait=6', 1],
    ['handling=lenient,wait=6;strict', 6],
  ])('is read from "%s"', (header, seconds) => expect(preferredWait(header)).toBe(seconds));

  it.each([
    [undefined],
    [''],
    ['wait'],
    ['wait='],
    ['wait=-1'],
    ['wait=1.5'],
    ['wait=five'],
    ['wait=1e1'],
    ['await=5'],
    ['note="wait=5"'],
    ['note="open, wait=5'],
    ['wait=5 seconds'],
    [`${'x,'.repeat(2_000)}wait=5`],
  ])('is not found in "%s"', (header) => expect(preferredWait(header)).toBeNull());
});
