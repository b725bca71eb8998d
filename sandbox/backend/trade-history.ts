import type { DiamondLog } from './diamond-log.js';
import type { ProtocolState } from './protocol-state.js';
import { humanNumber, structText, type WireValue } from './wire-format.js';

/** A row of `/api/trading-history`, and of the `new-trade-history` event. */
export type HistoryRow = Readonly<Record<string, WireValue>> & { readonly id: number; readonly date: string };

interface Execution {
  readonly action: string;
  readonly trade: {
    readonly user: string;
    readonly index: number;
    readonly pairIndex: number;
    readonly long: boolean;
    readonly leverage: number;
    readonly collateralIndex: number;
    readonly collateralAmount: bigint;
    readonly isCounterTrade: boolean;
  };
  readonly price: bigint;
  readonly oraclePrice: bigint;
  readonly collateralPriceUsd: bigint;
  /** 1e10 percent of the collateral; null for an opening. */
  readonly profitP: bigint | null;
  readonly paidOut: bigint;
  readonly impact: unknown;
}

const LIMIT_ACTIONS: Readonly<Record<number, string>> = {
  2: 'TradeOpenedLimit',
  3: 'TradeOpenedLimit',
  4: 'TradeClosedTP',
  5: 'TradeClosedSL',
  6: 'TradeClosedLIQ',
};

export type ExecutionLog = Extract<DiamondLog, { readonly name: 'MarketExecuted' | 'LimitExecuted' }>;

export const isExecution = (log: DiamondLog): log is ExecutionLog => log.name === 'MarketExecuted' || log.name === 'LimitExecuted';

function executionOf(log: ExecutionLog): Execution {
  const { t, oraclePrice, collateralPriceUsd, priceImpact, percentProfit, amountSentToTrader } = log.args;
  const isOpening = log.name === 'MarketExecuted' ? log.args.open : log.args.orderType <= 3;
  const marketAction = isOpening ? 'TradeOpenedMarket' : 'TradeClosedMarket';
  return {
    action: log.name === 'MarketExecuted' ? marketAction : (LIMIT_ACTIONS[log.args.orderType] ?? 'TradeClosedMarket'),
    trade: { ...t, index: log.args.index },
    price: priceImpact.priceAfterImpact,
    oraclePrice,
    collateralPriceUsd,
    profitP: isOpening ? null : percentProfit,
    paidOut: amountSentToTrader,
    impact: priceImpact,
  };
}

export interface RowContext {
  readonly id: number;
  /** Seconds. */
  readonly blockTime: number;
  readonly state: ProtocolState;
}

export function historyRow(log: ExecutionLog, { id, blockTime, state }: RowContext): HistoryRow {
  const execution = executionOf(log);
  const { trade, action, profitP } = execution;
  const pair = state.rules.pairs[trade.pairIndex];
  const decimals = state.tokens[trade.collateralIndex - 1]?.decimals ?? 18;
  const pnl = profitP === null ? 0n : (trade.collateralAmount * profitP) / 10n ** 12n;
  const net = profitP === null ? 0n : execution.paidOut - trade.collateralAmount;
  return {
    id,
    date: new Date(blockTime * 1000).toISOString(),
    block: log.block,
    tx: log.tx,
    address: trade.user,
    pair: `${pair?.from ?? ''}/${pair?.to ?? ''}`,
    action,
    price: humanNumber(execution.price, 10),
    marketPrice: humanNumber(execution.oraclePrice, 10),
    long: trade.long ? 1 : 0,
    size: humanNumber(trade.collateralAmount, decimals),
    leverage: humanNumber(BigInt(trade.leverage), 3),
    leverageDelta: null,
    collateralDelta: null,
    collateralIndex: trade.collateralIndex,
    collateralPriceUsd: humanNumber(execution.collateralPriceUsd, 8),
    tradeIndex: trade.index,
    tradeId: trade.index,
    isCounterTrade: trade.isCounterTrade,
    pnl: humanNumber(pnl, decimals),
    pnl_net: humanNumber(net, decimals),
    meta: { priceImpact: structText(execution.impact) },
  };
}
