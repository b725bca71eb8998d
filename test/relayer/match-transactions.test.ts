import { WRITE_FUNCTIONS } from '../../core/chains/diamond-functions.js';
import type { SentTransaction } from '../../core/ports/relayer.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import type { Hex } from '../../core/types.js';
import { isTradingCall, matchTransactions } from '../../relayer/match-transactions.js';

const WALLET = `0x${'ab'.repeat(20)}` as const;
const OTHER = `0x${'cd'.repeat(20)}` as const;
const DIAMOND = `0x${'Ee'.repeat(20)}` as const;
const ADDRESSES = { wallet: WALLET, diamond: DIAMOND };
const toDiamond = DIAMOND.toLowerCase() as Hex;

const sent = (nonce: number, input: Hex, to: Hex = toDiamond): SentTransaction => ({
  ...{ nonce, input, to, block: 1n, hash: `0x${nonce}`, raw: null, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
});
const job = (id: number, data: Hex, changes: Partial<Pick<RelayJob, 'nonce' | 'attempts' | 'purpose'>> = {}): RelayJob =>
  ({ id: BigInt(id), data, nonce: null, attempts: [], purpose: 'action', ...changes }) as unknown as RelayJob;
const attempts = [{ hash: '0xff' }] as unknown as RelayJob['attempts'];

const matched = (transactions: readonly SentTransaction[], jobs: readonly RelayJob[]): (bigint | null)[] =>
  matchTransactions(transactions, jobs, ADDRESSES).map((match) => match.job?.id ?? null);

describe('forgotten transactions and the jobs that are left', () => {
  it.each<[string, SentTransaction[], RelayJob[], (bigint | null)[]]>([
    ['the same bytes are the job', [sent(4, '0xAA')], [job(1, '0xbb'), job(2, '0xaa')], [2n]],
    ['a transaction is of one job only, the oldest', [sent(4, '0xaa')], [job(9, '0xaa'), job(2, '0xaa')], [2n]],
    ['a job is of one transaction only', [sent(4, '0xaa'), sent(5, '0xaa')], [job(2, '0xaa')], [2n, null]],
    ['two of each are in their order', [sent(4, '0xaa'), sent(5, '0xaa')], [job(3, '0xaa'), job(2, '0xaa')], [2n, 3n]],
    ['the same bytes to another address are none', [sent(4, '0xaa', OTHER)], [job(2, '0xaa')], [null]],
    ['a higher fee under the same nonce is the job', [sent(4, '0xaa')], [job(1, '0xaa'), job(2, '0xaa', { nonce: 4, attempts })], [2n]],
    ['under another nonce than its attempts it is not', [sent(5, '0xaa')], [job(2, '0xaa', { nonce: 4, attempts })], [null]],
    ['a no-op in the place of a call is the job', [sent(4, '0x', WALLET)], [job(2, '0xaa', { nonce: 4, attempts })], [2n]],
    ['a no-op of another nonce is none', [sent(4, '0x', WALLET)], [job(2, '0x', { nonce: 5, purpose: 'no-op' })], [null]],
    ['a nonce that was never used for it does not count', [sent(4, '0xaa')], [job(2, '0xaa', { nonce: 7 })], [2n]],
  ])('%s', (_what, transactions, jobs, expected) => expect(matched(transactions, jobs)).toEqual(expected));

  it('are calls of a relayer only if they trade', () => {
    const { delegatedTradingAction, openTrade, setTradingDelegate } = WRITE_FUNCTIONS;
    const calls = [delegatedTradingAction, openTrade, setTradingDelegate].map(({ selector }) => sent(1, `${selector}00`));
    expect(calls.map((each) => isTradingCall(each, ADDRESSES))).toEqual([true, true, false]);
    expect(isTradingCall(sent(1, openTrade.selector, OTHER), ADDRESSES)).toBe(false);
  });
});
