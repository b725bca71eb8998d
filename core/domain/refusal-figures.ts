import type { RefusalFigures } from './chain-event.js';
import type { LogNamed } from './diamond-log.js';
import { lower, type TransactionLogs } from './interpret-executions.js';

export type Refusal = LogNamed<
  'MarketOpenCanceled' | 'MarketCloseCanceled' | 'LeverageUpdateExecuted' | 'PositionSizeIncreaseExecuted' | 'PositionSizeDecreaseExecuted'
>;

const NOTHING: RefusalFigures = { oraclePrice: null, executionPrice: null, leverage: null, liquidationPrice: null };

/** The contract leaves values at zero that it did not compute before refusing. */
const unlessZero = (value: bigint): bigint | null => (value === 0n ? null : value);

/** The log of a refused opening or closing has only the reason; the oracle's price is in another log of the same transaction. */
export function refusalFigures(log: Refusal, { logs }: TransactionLogs): RefusalFigures {
  const { orderId } = log.args;
  const answer = logs.find(
    (other): other is LogNamed<'TradingCallbackExecuted'> =>
      other.name === 'TradingCallbackExecuted' &&
      lower(other.args.a.orderId.user) === lower(orderId.user) &&
      other.args.a.orderId.index === orderId.index,
  );
  const common = { ...NOTHING, oraclePrice: answer?.args.a.current ?? null };
  switch (log.name) {
    case 'LeverageUpdateExecuted': {
      const { newEffectiveLeverage, newLiqPrice } = log.args.values;
      return { ...common, leverage: unlessZero(newEffectiveLeverage), liquidationPrice: unlessZero(newLiqPrice) };
    }
    case 'PositionSizeIncreaseExecuted': {
      const { newEffectiveLeverage, newLiqPrice, priceImpact } = log.args.values;
      return {
        ...common,
        executionPrice: unlessZero(priceImpact.priceAfterImpact),
        leverage: unlessZero(newEffectiveLeverage),
        liquidationPrice: unlessZero(newLiqPrice),
      };
    }
    case 'PositionSizeDecreaseExecuted': {
      const { newLiqPrice, priceImpact } = log.args.values;
      return { ...common, executionPrice: unlessZero(priceImpact.priceAfterImpact), liquidationPrice: unlessZero(newLiqPrice) };
    }
    default:
      return common;
  }
}
