import {
  agreesAnew,
  isOutdated,
  NOTHING_KNOWN,
  openDoubts,
  openingsHalt,
  type ContractCheck,
} from '../../../core/domain/contract-doubt.js';

const [ONE, OTHER] = ['0x01', '0x02'] as const;
const CHANGED = { ...NOTHING_KNOWN, cut: 100n, cutHash: ONE };
const AGREES: ContractCheck = { block: 101n, cut: 100n, cutHash: ONE, findings: [], logged: [], isWhole: true };
const COUNTS = 'the Diamond has 3 pairs, and the backend says 2';
const LOGS = 'the Diamond logs TradeClosed in another form';

const accepted = (upTo: bigint, findings: readonly string[] = []) => ({ ...CHANGED, accepted: { upTo, findings } });
const finding = (findings: readonly string[], logged: readonly string[] = []): ContractCheck => ({ ...AGREES, findings, logged });

describe('a change of the contract', () => {
  it.each([
    ['agreed, and is not stored as such', CHANGED, AGREES, true],
    ['agreed, and an earlier one is stored', accepted(99n), AGREES, true],
    ['agreed, which is stored', accepted(100n), AGREES, false],
    ['was not compared with the backend', CHANGED, { ...AGREES, isWhole: false }, false],
    ['differs', CHANGED, finding([COUNTS]), false],
    ['is later than the check', { ...CHANGED, cut: 102n }, AGREES, false],
    ['was replaced by one of another branch at the same height', { ...CHANGED, cutHash: OTHER }, AGREES, false],
    ['was checked on a node that has not reached it', CHANGED, { ...AGREES, block: 99n }, false],
    ['never came', NOTHING_KNOWN, { ...AGREES, cut: null, cutHash: null }, false],
  ] as const)('that %s', (_, standing, check, isNew) => {
    expect(agreesAnew(standing, check)).toBe(isNew);
  });

  it.each([
    ['what differs counts', CHANGED, finding([COUNTS]), [COUNTS]],
    ['after it agreed, a later difference is not the change’s', accepted(100n), finding([COUNTS]), []],
    ['after it agreed, a log in another form still is', accepted(100n), finding([LOGS, COUNTS], [LOGS]), [LOGS]],
    ['a log in another form that the operator accepted is not', accepted(100n, [LOGS]), finding([LOGS], [LOGS]), []],
    ['that an earlier one agreed says nothing of it', accepted(99n), finding([COUNTS]), [COUNTS]],
    ['after a reorganisation nothing is covered but the accepted findings', accepted(0n, [COUNTS]), finding([COUNTS, LOGS]), [LOGS]],
  ] as const)('%s', (_, standing, check, doubts) => {
    expect(openDoubts(standing, check)).toEqual(doubts);
    expect(openingsHalt(standing, check) === null).toBe(doubts.length === 0);
  });

  it('of another branch at the same height is checked again', () => {
    expect(isOutdated({ ...CHANGED, cutHash: OTHER }, AGREES)).toBe(true);
  });
});
