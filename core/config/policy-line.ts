import { formatEther } from 'viem/utils';
import type { RelayerConfig } from './relayer.js';
import type { RuleSettings } from './rules.js';

const GWEI = 1_000_000_000n;

/** What the settings let traders spend of the relayer's coins, logged at start. Stored rules override them. */
export const policyOf = (
  { rules, allowed, blocked }: RuleSettings,
  { maxFeePerGas, dailyBudget = 'unlimited' }: Pick<RelayerConfig, 'maxFeePerGas' | 'dailyBudget'>,
) => ({
  traders: allowed === null ? 'all' : `${allowed.size} allowed`,
  blocked: blocked.size,
  dailyTransactionsOfTrader: rules.dailyTransactions ?? 'unlimited',
  dailyBudgetOfWallet:
    typeof dailyBudget === 'bigint'
      ? formatEther(dailyBudget)
      : dailyBudget === 'half'
        ? 'half of the highest balance of the day'
        : dailyBudget,
  maxFeeGwei: Number(maxFeePerGas / GWEI),
});
