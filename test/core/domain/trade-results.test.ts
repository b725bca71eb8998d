import type { Executed } from '../../../core/domain/chain-event.js';
import { COUNTED_TOGETHER, resultAlone, tradeResults } from '../../../core/domain/trade-results.js';
import { closesOf, USDC } from '../../harness/hyperliquid/many-closes.js';

const cashOf = (executions: readonly Executed[]): bigint => executions.reduce((sum, { netPnl }) => sum + netPnl, 0n);

describe('the results of a trade that is closed in thousands of parts', () => {
  it('come to the cash that moved, although later parts count by themselves', () => {
    const executions = closesOf('0x01', 3_000);
    const read = tradeResults(executions.slice(0, COUNTED_TOGETHER));
    const all = [...read, ...executions.slice(COUNTED_TOGETHER).map(resultAlone)];
    expect(all.reduce((sum, { closedPnl, fee }) => sum + closedPnl - fee, 0n)).toBe(cashOf(executions));
  });

  it('share what the opening cost, so that no part settles much of it', () => {
    const results = tradeResults(closesOf('0x02', 100));
    const closed = results.slice(1).map(({ closedPnl }) => closedPnl);
    expect(closed.every((pnl) => pnl > 0n && pnl < USDC / 10n)).toBe(true);
  });
});
