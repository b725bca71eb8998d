import type { RefusalFigures } from './chain-event.js';
import type { LogNamed } from './diamond-log.js';
import { lower, type Story } from './interpret-executions.js';

export type Refusal = LogNamed<
  'MarketOpenCanceled' | 'MarketCloseCanceled' | 'LeverageUpdateExecuted' | 'PositionSizeIncreaseExecuted' | 'PositionSizeDecreaseExecuted'
>;

const NOTHING: RefusalFigures = { oraclePrice: null, executionPrice: null, leverage: null, liquidationPrice: null };

/** The contract leaves at zero what it did not get to. */
const unlessZero = (value: bigint): bigint | null => (value === 0n ? null : value);

/** A refused opening or closing says nothing but the reason; the answer that it was judged by stands in the same transaction. */
export function refusalFigures(log: Refusal, { logs }: Story): RefusalFigures {
  const { orderId } = log.args;
  const answer = logs.find(
    (other): other is LogNamed<'TradingCallbackExecuted'> =>
      other.name === 'TradingCallbackExecuted' &&
      lower(other.args.a.orderId.user) === lower(orderId.user) &&
      other.args.a.orderId.index === orderId.index,
  );
  const told = { ...NOTHING, oraclePrice: answer?.args.a.current ?? null };
  switch (log.name) {
    case 'LeverageUpdateExecuted': {
      const { newEffectiveLeverage, newLiqPrice } = log.args.values;
      return { ...told, leverage: unlessZero(newEffectiveLeverage), liquidationPrice: unlessZero(newLiqPrice) };
    }
    case 'PositionSizeIncreaseExecuted': {
      const { newEffectiveLeverage, newLiqPrice, priceImpact } = log.args.values;
      return {
        ...told,
        executionPrice: unlessZero(priceImpact.priceAfterImpact),
        leverage: unlessZero(newEffectiveLeverage),
        liquidationPrice: unlessZero(newLiqPrice),
      };
    }
    case 'PositionSizeDecreaseExecuted': {
      const { newLiqPrice, priceImpact } = log.args.values;
      return { ...told, executionPrice: unlessZero(priceImpact.priceAfterImpact), liquidationPrice: unlessZero(newLiqPrice) };
    }
    default:
      return told;
  }
}
