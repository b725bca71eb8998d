import type { Address } from '../../core/types.js';
import type { DiamondLog } from './diamond-reader.js';
import type { ProtocolState } from './protocol-state.js';
import { humanNumber, structText, type WireValue } from './wire-format.js';

/** A row of `/api/trading-history`, and of the `new-trade-history` event. */
export type HistoryRow = Readonly<Record<string, WireValue>> & { readonly id: number; readonly date: string };

const EXECUTIONS = [
  'MarketExecuted',
  'LimitExecuted',
  'LeverageUpdateExecuted',
  'PositionSizeIncreaseExecuted',
  'PositionSizeDecreaseExecuted',
] as const;

export type ExecutionLog = Extract<DiamondLog, { readonly name: (typeof EXECUTIONS)[number] }>;

/** Updates report refusals with the same event and a reason. */
export const isExecution = (log: DiamondLog): log is ExecutionLog =>
  EXECUTIONS.some((name) => name === log.name) && !('cancelReason' in log.args && log.args.cancelReason !== 0);

interface Execution {
  readonly action: string;
  readonly user: Address;
  readonly index: number;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  /** null if the event does not contain it. */
  readonly long: boolean | null;
  readonly isCounterTrade: boolean;
  /** 1e3, and collateral units: after the execution. */
  readonly leverage: bigint;
  readonly collateral: bigint;
  readonly leverageDelta: bigint | null;
  readonly collateralDelta: bigint | null;
  readonly price: bigint;
  readonly oraclePrice: bigint;
  /** Collateral units, before and after fees. */
  readonly pnl: bigint;
  readonly netPnl: bigint;
  readonly impact: unknown;
}

const TRIGGERED: Readonly<Record<number, string>> = {
  2: 'TradeOpenedLimit',
  3: 'TradeOpenedLimit',
  4: 'TradeClosedTP',
  5: 'TradeClosedSL',
  6: 'TradeClosedLIQ',
};
const LAST_OPENING_TYPE = 3;
const NOTHING = { leverageDelta: null, collateralDelta: null, pnl: 0n, netPnl: 0n, isCounterTrade: false } as const;

type WholeLog = Extract<ExecutionLog, { readonly name: 'MarketExecuted' | 'LimitExecuted' }>;

function wholeTrade(log: WholeLog): Execution {
  const { t, index, oraclePrice, priceImpact, percentProfit, amountSentToTrader } = log.args;
  const isOpening = log.name === 'MarketExecuted' ? log.args.open : log.args.orderType <= LAST_OPENING_TYPE;
  const atMarket = isOpening ? 'TradeOpenedMarket' : 'TradeClosedMarket';
  return {
    ...NOTHING,
    ...t,
    index,
    action: log.name === 'MarketExecuted' ? atMarket : (TRIGGERED[log.args.orderType] ?? atMarket),
    leverage: BigInt(t.leverage),
    collateral: t.collateralAmount,
    price: priceImpact.priceAfterImpact,
    oraclePrice,
    ...(!isOpening && { pnl: (t.collateralAmount * percentProfit) / 10n ** 12n, netPnl: amountSentToTrader - t.collateralAmount }),
    impact: priceImpact,
  };
}

function update(log: Exclude<ExecutionLog, WholeLog>): Execution {
  const { trader, index, pairIndex, collateralIndex, oraclePrice, collateralDelta, values } = log.args;
  const impact = 'priceImpact' in values ? values.priceImpact : null;
  return {
    ...NOTHING,
    action: UPDATES[log.name],
    ...{ user: trader, index: Number(index), pairIndex: Number(pairIndex), collateralIndex, collateralDelta, oraclePrice, impact },
    long: 'long' in log.args ? log.args.long : null,
    leverageDelta: 'leverageDelta' in log.args ? log.args.leverageDelta : null,
    leverage: BigInt(values.newLeverage),
    collateral: values.newCollateralAmount,
    price: impact?.priceAfterImpact ?? oraclePrice,
    ...('partialNetPnlCollateral' in values && { pnl: values.partialRawPnlCollateral, netPnl: values.partialNetPnlCollateral }),
  };
}

const UPDATES = {
  LeverageUpdateExecuted: 'TradeLeverageUpdate',
  PositionSizeIncreaseExecuted: 'TradePosSizeIncrease',
  PositionSizeDecreaseExecuted: 'TradePosSizeDecrease',
} as const;

export interface RowContext {
  readonly id: number;
  /** Seconds. */
  readonly blockTime: number;
  readonly state: ProtocolState;
  /** The side of a trade whose event does not contain it. */
  readonly isLong: boolean;
}

export function historyRow(log: ExecutionLog, { id, blockTime, state, isLong }: RowContext): HistoryRow {
  const execution = log.name === 'MarketExecuted' || log.name === 'LimitExecuted' ? wholeTrade(log) : update(log);
  const pair = state.rules.pairs[execution.pairIndex];
  const decimals = state.tokens[execution.collateralIndex - 1]?.decimals ?? 18;
  const amount = (units: bigint): number => humanNumber(units, decimals);
  const maybe = (units: bigint | null, scale: number): number | null => (units === null ? null : humanNumber(units, scale));
  return {
    id,
    date: new Date(blockTime * 1000).toISOString(),
    ...{ block: log.block, tx: log.tx, address: execution.user, pair: `${pair?.from ?? ''}/${pair?.to ?? ''}`, action: execution.action },
    price: humanNumber(execution.price, 10),
    marketPrice: humanNumber(execution.oraclePrice, 10),
    long: (execution.long ?? isLong) ? 1 : 0,
    size: amount(execution.collateral),
    leverage: humanNumber(execution.leverage, 3),
    leverageDelta: maybe(execution.leverageDelta, 3),
    collateralDelta: maybe(execution.collateralDelta, decimals),
    collateralIndex: execution.collateralIndex,
    collateralPriceUsd: humanNumber(state.exposures[execution.collateralIndex - 1]?.priceUsd ?? 0n, 8),
    ...{ tradeIndex: execution.index, tradeId: execution.index, isCounterTrade: execution.isCounterTrade },
    pnl: amount(execution.pnl),
    pnl_net: amount(execution.netPnl),
    meta: { priceImpact: structText(execution.impact) },
  };
}

/** The trade whose side must be read, because the event does not contain it. */
export const unsidedTrade = (log: ExecutionLog): { readonly user: Address; readonly index: number } | null =>
  log.name === 'LeverageUpdateExecuted' ? { user: log.args.trader, index: Number(log.args.index) } : null;
