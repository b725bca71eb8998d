import type { EventPlace, Executed, HeldTrade, Level, OrderKey, PositionEdited, Terms, TradeFigures } from './chain-event.js';
import type { DiamondLog, LogNamed, OrderId, TradeStruct } from './diamond-log.js';
import type { PositionState } from './position.js';
import { positionSizeCollateral, tokensAtOpen } from './pricing/size.js';
import { HUNDRED_PERCENT } from './pricing/units.js';

type Hex = `0x${string}`;

/** Looks up a trade as it was before the transaction. */
export type TradeLookup = (trader: Hex, tradeIndex: number) => PositionState | null;

/** 10^decimals of a collateral; null where it is unknown. */
export type PrecisionLookup = (collateralIndex: number) => bigint | null;

/** The logs of one transaction. */
export interface TransactionLogs {
  readonly logs: readonly DiamondLog[];
  readonly tradeOf: TradeLookup;
  readonly precisionOf: PrecisionLookup;
  /** It has logs that this release cannot read. */
  readonly isUnread?: boolean;
}

/** Tokens of a part of a trade: the contract's count, or for trades from before v10, whose count is 0, computed from the opening. */
export function tokensOf(
  counted: bigint,
  {
    sizeCollateral,
    openPrice,
    collateralIndex,
  }: { readonly sizeCollateral: bigint; readonly openPrice: bigint; readonly collateralIndex: number },
  precisionOf: PrecisionLookup,
): bigint {
  const precision = counted > 0n ? null : precisionOf(collateralIndex);
  return precision === null ? counted : tokensAtOpen({ sizeCollateral, openPrice, precision });
}

/** The contract's `PendingOrderType`. */
export const PENDING_TYPE = { marketOpen: 0, marketClose: 1, leverage: 7, partialOpen: 8, partialClose: 9 } as const;
const LAST_OPENING_TRIGGER = 3;
const TRIGGERED = { 4: 'tp', 5: 'sl', 6: 'liquidation' } as const;

export const lower = (address: Hex): Hex => address.toLowerCase() as Hex;
const requestKey = ({ index }: OrderId): OrderKey => `request:${index}`;

export function ofRequest(id: OrderId, tradeIndex: number | null, { place }: { readonly place: EventPlace }) {
  return { trader: lower(id.user), orderKey: requestKey(id), tradeIndex, place };
}

export const plainTerms = ({ pairIndex, collateralIndex, long, leverage, collateralAmount, openPrice, tp, sl }: Terms): Terms => ({
  pairIndex,
  collateralIndex,
  long,
  leverage,
  collateralAmount,
  openPrice,
  tp,
  sl,
});

export const termsOf = (trade: TradeStruct): Terms => plainTerms({ ...trade, leverage: BigInt(trade.leverage) });

export const figuresOf = (trade: TradeStruct): TradeFigures => ({
  ...termsOf(trade),
  sizeToken: trade.positionSizeToken,
  isCounterTrade: trade.isCounterTrade,
});

export function executedWhole(log: LogNamed<'MarketExecuted' | 'LimitExecuted'>, transaction: TransactionLogs): Executed {
  const { t, user, index, orderId, marketPrice: price, oraclePrice, collateralPriceUsd, percentProfit, amountSentToTrader } = log.args;
  const trader = lower(user);
  const terms = termsOf(t);
  const opens = log.name === 'MarketExecuted' ? log.args.open : log.args.orderType <= LAST_OPENING_TRIGGER;
  const trigger = log.name === 'LimitExecuted' && !opens ? TRIGGERED[log.args.orderType as keyof typeof TRIGGERED] : null;
  const restingKey = log.name === 'LimitExecuted' && opens ? (`resting:${log.args.limitIndex}` as const) : null;
  const entryPriceUsd = opens ? collateralPriceUsd : transaction.tradeOf(trader, index)?.entryPriceUsd;
  const orderType = log.name === 'LimitExecuted' ? log.args.orderType : opens ? PENDING_TYPE.marketOpen : PENDING_TYPE.marketClose;
  return {
    kind: 'executed',
    action: opens ? 'open' : (trigger ?? 'close'),
    trader,
    orderKey: log.name === 'MarketExecuted' ? requestKey(orderId) : restingKey,
    tradeIndex: index,
    place: log.place,
    terms,
    price,
    oraclePrice,
    sizeCollateral: positionSizeCollateral(terms),
    sizeToken: tokensOf(t.positionSizeToken, { ...terms, sizeCollateral: positionSizeCollateral(terms) }, transaction.precisionOf),
    collateral: t.collateralAmount,
    grossPnl: opens ? 0n : (t.collateralAmount * percentProfit) / HUNDRED_PERCENT,
    netPnl: opens ? 0n : amountSentToTrader - t.collateralAmount,
    fee: feeBefore(log, transaction, { trader, collateralIndex: t.collateralIndex, orderType }),
    collateralPriceUsd,
    ...(entryPriceUsd === undefined ? {} : { entryPriceUsd }),
    after: opens ? figuresOf(t) : null,
  };
}

/** The fee log precedes the outcome and is matched by order type. */
function feeBefore(
  { place }: DiamondLog,
  { logs }: TransactionLogs,
  wanted: { readonly trader: Hex; readonly collateralIndex: number; readonly orderType: number },
): bigint {
  const feeLog = logs.findLast(
    (log): log is LogNamed<'FeesProcessed'> =>
      log.name === 'FeesProcessed' &&
      log.place.logIndex < place.logIndex &&
      lower(log.args.trader) === wanted.trader &&
      log.args.collateralIndex === wanted.collateralIndex &&
      log.args.orderType === wanted.orderType,
  );
  return feeLog?.args.totalFeesCollateral ?? 0n;
}

type PartLog = LogNamed<'PositionSizeIncreaseExecuted' | 'PositionSizeDecreaseExecuted'>;

export function executedPart(log: PartLog, transaction: TransactionLogs): Executed | null {
  const { args } = log;
  const isIncrease = log.name === 'PositionSizeIncreaseExecuted';
  const { positionSizeCollateralDelta, priceImpact } = args.values;
  const pnl = log.name === 'PositionSizeDecreaseExecuted' ? pnlOfPart(log.args.values) : NO_PNL;
  const before = transaction.tradeOf(lower(args.trader), Number(args.index));
  const sizeToken = priceImpact.positionSizeToken;
  return executedUpdate(log, transaction, {
    action: isIncrease ? 'increase' : 'decrease',
    orderType: isIncrease ? PENDING_TYPE.partialOpen : PENDING_TYPE.partialClose,
    part: {
      ...pnl,
      price: priceImpact.priceAfterImpact,
      sizeCollateral: positionSizeCollateralDelta,
      sizeToken:
        before === null
          ? sizeToken
          : tokensOf(sizeToken, { ...before, sizeCollateral: positionSizeCollateralDelta }, transaction.precisionOf),
      collateralPriceUsd: args.collateralPriceUsd,
    },
  });
}

/**
 * A partial close that removes collateral realises its full result. One that only lowers the leverage pays out a profit, while a loss stays in
 * the trade and is part of its final close; counting it here would count it twice.
 */
function pnlOfPart(values: LogNamed<'PositionSizeDecreaseExecuted'>['args']['values']): Pick<Executed, 'grossPnl' | 'netPnl'> {
  const { isLeverageUpdate, collateralSentToTrader, partialRawPnlCollateral, partialNetPnlCollateral, closingFeeCollateral } = values;
  const paid = collateralSentToTrader > 0n ? collateralSentToTrader : 0n;
  return { grossPnl: partialRawPnlCollateral, netPnl: isLeverageUpdate ? paid : partialNetPnlCollateral - closingFeeCollateral };
}

const NO_PNL = { grossPnl: 0n, netPnl: 0n } as const;
/** Nothing is bought or sold. */
const NO_SIZE = { ...NO_PNL, sizeCollateral: 0n, sizeToken: 0n, collateralPriceUsd: null } as const;

export function executedLeverage(log: LogNamed<'LeverageUpdateExecuted'>, transaction: TransactionLogs): Executed | null {
  const update = executedUpdate(log, transaction, {
    action: 'leverage',
    orderType: null,
    part: { ...NO_SIZE, price: log.args.oraclePrice },
  });
  return update && { ...update, fee: log.args.values.govFeeCollateral };
}

type Part = Pick<Executed, 'price' | 'sizeCollateral' | 'sizeToken' | 'grossPnl' | 'netPnl' | 'collateralPriceUsd'>;

/** The position's new figures are in a separate log. */
function executedUpdate(
  log: PartLog | LogNamed<'LeverageUpdateExecuted'>,
  transaction: TransactionLogs,
  { action, orderType, part }: { readonly action: Executed['action']; readonly orderType: number | null; readonly part: Part },
): Executed | null {
  const { orderId, trader, index, collateralIndex, oraclePrice, collateralDelta } = log.args;
  const tradeIndex = Number(index);
  const before = transaction.tradeOf(lower(trader), tradeIndex);
  const updated = transaction.logs.findLast(
    (other): other is LogNamed<'TradePositionUpdated'> =>
      other.name === 'TradePositionUpdated' && lower(other.args.user) === lower(trader) && other.args.index === tradeIndex,
  );
  if (before === null || !updated) return null;
  const { collateralAmount, leverage, openPrice, newSl, newPositionSizeToken } = updated.args;
  const { pairIndex, long, tp, isCounterTrade } = before;
  const after = { pairIndex, collateralIndex, long, tp, collateralAmount, openPrice, leverage: BigInt(leverage), sl: newSl };
  const fee = orderType === null ? 0n : feeBefore(log, transaction, { trader: lower(trader), collateralIndex, orderType });
  return {
    kind: 'executed',
    action,
    ...ofRequest(orderId, tradeIndex, log),
    tradeIndex,
    terms: after,
    oraclePrice,
    ...part,
    collateral: collateralDelta,
    fee,
    ...(before.entryPriceUsd === undefined ? {} : { entryPriceUsd: before.entryPriceUsd }),
    after: { ...after, sizeToken: newPositionSizeToken, isCounterTrade },
  };
}

export function withdrawal(log: LogNamed<'TradePositivePnlWithdrawn'>, { tradeOf }: TransactionLogs): Executed | null {
  const { orderId, trader, index, currentPairPrice, pnlWithdrawnCollateral } = log.args;
  const before = tradeOf(lower(trader), index);
  if (before === null) return null;
  const about = { kind: 'executed' as const, action: 'withdraw' as const, ...ofRequest(orderId, index, log), tradeIndex: index };
  const price = { price: currentPairPrice, oraclePrice: currentPairPrice };
  const paid = { collateral: pnlWithdrawnCollateral, netPnl: pnlWithdrawnCollateral };
  return { ...about, ...NO_SIZE, ...price, ...paid, terms: plainTerms(before), fee: 0n, after: null };
}

type EditLog = LogNamed<'TradeTpUpdated' | 'TradeSlUpdated' | 'TradeMaxClosingSlippagePUpdated'>;

export const edited = (log: EditLog, field: PositionEdited['field'], value: bigint): PositionEdited => ({
  kind: 'edited',
  trader: lower(log.args.user),
  orderKey: null,
  tradeIndex: log.args.index,
  place: log.place,
  field,
  value,
});

/** A TP/SL change, with the position it applies to, because a TP/SL order closes the whole position. */
export function editedLevel(log: EditLog, transaction: TransactionLogs, level: Level, value: bigint): PositionEdited {
  const held = heldAt(log, transaction);
  return { ...edited(log, level, value), ...(held && { held }) };
}

function heldAt({ args, place }: EditLog, { logs, tradeOf }: TransactionLogs): HeldTrade | null {
  const trade = tradeOf(lower(args.user), args.index);
  if (trade === null) return null;
  const slipped = logs.findLast(
    (other): other is LogNamed<'TradeMaxClosingSlippagePUpdated'> =>
      other.name === 'TradeMaxClosingSlippagePUpdated' &&
      other.place.logIndex < place.logIndex &&
      lower(other.args.user) === lower(args.user) &&
      other.args.index === args.index,
  );
  const { sizeToken, isCounterTrade } = trade;
  return {
    trade: { ...plainTerms(trade), sizeToken, isCounterTrade },
    slippageP: slipped === undefined ? trade.slippageP : BigInt(slipped.args.maxClosingSlippageP),
  };
}
