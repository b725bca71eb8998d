import { formatNative } from '../domain/native-amount.js';
import type { RelayerConfig } from './relayer.js';
import type { RuleSettings } from './rules.js';

const GWEI = 1_000_000_000n;

/** What the settings let strangers spend of the relayer's coins, for the line that is logged at start. Stored rules come before them. */
export const policyOf = (
  { rules, allowed, blocked }: RuleSettings,
  { maxFeePerGas, dailyBudget = 'unlimited' }: Pick<RelayerConfig, 'maxFeePerGas' | 'dailyBudget'>,
) => ({
  traders: allowed === null ? 'everybody' : `${allowed.size} allowed`,
  blocked: blocked.size,
  dailyTransactionsOfTrader: rules.dailyTransactions ?? 'unlimited',
  dailyBudgetOfWallet:
    typeof dailyBudget === 'bigint'
      ? formatNative(dailyBudget)
      : dailyBudget === 'half'
        ? 'half of the highest balance of the day'
        : dailyBudget,
  maxFeeGwei: Number(maxFeePerGas / GWEI),
});
