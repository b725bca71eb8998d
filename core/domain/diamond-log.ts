/** The Diamond's logs that change orders and positions, with the fields that are read, as the ABI decodes them. Units are the contract's. */

type Hex = `0x${string}`;

export interface OrderId {
  readonly user: Hex;
  readonly index: number;
}

export interface TradeStruct {
  readonly user: Hex;
  readonly index: number;
  readonly pairIndex: number;
  readonly leverage: number;
  readonly long: boolean;
  readonly isOpen: boolean;
  readonly collateralIndex: number;
  readonly tradeType: number;
  readonly collateralAmount: bigint;
  readonly openPrice: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly isCounterTrade: boolean;
  readonly positionSizeToken: bigint;
}

export interface PendingOrderStruct {
  readonly trade: TradeStruct;
  readonly user: Hex;
  readonly index: number;
  readonly isOpen: boolean;
  readonly orderType: number;
  readonly createdBlock: number;
  readonly maxSlippageP: number;
}

interface Impact {
  readonly positionSizeToken: bigint;
  readonly priceAfterImpact: bigint;
}

interface Execution {
  readonly orderId: OrderId;
  readonly user: Hex;
  readonly index: number;
  /** For an opening the stored trade, for a closing the trade before it. */
  readonly t: TradeStruct;
  readonly oraclePrice: bigint;
  readonly marketPrice: bigint;
  readonly percentProfit: bigint;
  readonly amountSentToTrader: bigint;
  readonly collateralPriceUsd: bigint;
}

interface Update {
  readonly orderId: OrderId;
  /** 0 when it was executed. */
  readonly cancelReason: number;
  readonly collateralIndex: number;
  readonly trader: Hex;
  readonly pairIndex: bigint;
  readonly index: bigint;
  readonly oraclePrice: bigint;
  readonly collateralDelta: bigint;
}

interface SizeUpdate extends Update {
  readonly long: boolean;
  readonly collateralPriceUsd: bigint;
  readonly leverageDelta: bigint;
}

export interface DiamondLogArgs {
  PendingOrderStored: { readonly pendingOrder: PendingOrderStruct };
  PendingOrderClosed: { readonly orderId: OrderId };
  PriceRequested: {
    readonly collateralIndex: number;
    readonly pairIndex: bigint;
    readonly pendingOrder: PendingOrderStruct;
    readonly positionSizeCollateral: bigint;
  };
  OpenOrderPlaced: { readonly trader: Hex; readonly pairIndex: number; readonly index: number };
  OpenOrderDetailsUpdated: {
    readonly user: Hex;
    readonly index: number;
    readonly openPrice: bigint;
    readonly tp: bigint;
    readonly sl: bigint;
    readonly maxSlippageP: number;
  };
  OpenLimitCanceled: { readonly trader: Hex; readonly pairIndex: number; readonly index: number };
  MarketExecuted: Execution & { readonly open: boolean };
  LimitExecuted: Execution & { readonly limitIndex: number; readonly orderType: number };
  MarketOpenCanceled: { readonly orderId: OrderId; readonly trader: Hex; readonly cancelReason: number };
  MarketCloseCanceled: { readonly orderId: OrderId; readonly trader: Hex; readonly index: bigint; readonly cancelReason: number };
  TriggerOrderCanceled: { readonly orderId: OrderId; readonly orderType: number; readonly cancelReason: number };
  ChainlinkCallbackTimeout: { readonly pendingOrderId: OrderId };
  TradeStored: {
    readonly user: Hex;
    readonly index: number;
    readonly trade: TradeStruct;
    readonly tradeInfo: { readonly maxSlippageP: number };
  };
  TradeClosed: { readonly user: Hex; readonly index: number };
  TradePositionUpdated: {
    readonly user: Hex;
    readonly index: number;
    readonly collateralAmount: bigint;
    readonly leverage: number;
    readonly openPrice: bigint;
    readonly newSl: bigint;
    readonly newPositionSizeToken: bigint;
  };
  TradeTpUpdated: { readonly user: Hex; readonly index: number; readonly newTp: bigint };
  TradeSlUpdated: { readonly user: Hex; readonly index: number; readonly newSl: bigint };
  TradeMaxClosingSlippagePUpdated: { readonly user: Hex; readonly index: number; readonly maxClosingSlippageP: number };
  LeverageUpdateExecuted: Update & {
    readonly values: {
      readonly newLeverage: bigint;
      readonly govFeeCollateral: bigint;
      readonly newEffectiveLeverage: bigint;
      readonly newLiqPrice: bigint;
    };
  };
  PositionSizeIncreaseExecuted: SizeUpdate & {
    readonly values: {
      readonly positionSizeCollateralDelta: bigint;
      readonly newLeverage: bigint;
      readonly priceImpact: Impact;
      readonly newEffectiveLeverage: bigint;
      readonly newLiqPrice: bigint;
    };
  };
  PositionSizeDecreaseExecuted: SizeUpdate & {
    readonly values: {
      readonly positionSizeCollateralDelta: bigint;
      readonly newLeverage: number;
      readonly priceImpact: Impact;
      /** Only the leverage was lowered; no collateral is removed. */
      readonly isLeverageUpdate: boolean;
      /** Negative where a leverage update loses: then nothing is paid. */
      readonly collateralSentToTrader: bigint;
      readonly partialRawPnlCollateral: bigint;
      readonly partialNetPnlCollateral: bigint;
      readonly closingFeeCollateral: bigint;
      readonly newLiqPrice: bigint;
    };
  };
  TradePositivePnlWithdrawn: {
    readonly orderId: OrderId;
    readonly collateralIndex: number;
    readonly trader: Hex;
    readonly index: number;
    readonly currentPairPrice: bigint;
    readonly pnlWithdrawnCollateral: bigint;
  };
  TradeHoldingFeesManuallyRealized: { readonly orderId: OrderId };
  TradeNegativePnlManuallyRealized: { readonly orderId: OrderId };
  FeesProcessed: {
    readonly collateralIndex: number;
    readonly trader: Hex;
    readonly orderType: number;
    readonly totalFeesCollateral: bigint;
  };
  TradingCallbackExecuted: { readonly a: { readonly orderId: OrderId; readonly current: bigint } };
  ReferrerRegistered: { readonly trader: Hex; readonly referrer: Hex };
  ReferrerRewardDistributed: Reward & { readonly referrer: Hex };
  AllyRewardDistributed: Reward & { readonly ally: Hex };
  ReferrerRewardsClaimed: { readonly referrer: Hex; readonly amountGns: bigint };
  /** Facets were added, replaced or removed. */
  DiamondCut: { readonly init: Hex };
}

/** All 1e18. */
interface Reward {
  readonly trader: Hex;
  readonly volumeUsd: bigint;
  readonly amountGns: bigint;
  readonly amountValueUsd: bigint;
}

export type DiamondLogName = keyof DiamondLogArgs;

/** Every log requested from nodes; other topics of the Diamond are not read. */
export const DIAMOND_LOG_NAMES = [
  'PendingOrderStored',
  'PendingOrderClosed',
  'PriceRequested',
  'OpenOrderPlaced',
  'OpenOrderDetailsUpdated',
  'OpenLimitCanceled',
  'MarketExecuted',
  'LimitExecuted',
  'MarketOpenCanceled',
  'MarketCloseCanceled',
  'TriggerOrderCanceled',
  'ChainlinkCallbackTimeout',
  'TradeStored',
  'TradeClosed',
  'TradePositionUpdated',
  'TradeTpUpdated',
  'TradeSlUpdated',
  'TradeMaxClosingSlippagePUpdated',
  'LeverageUpdateExecuted',
  'PositionSizeIncreaseExecuted',
  'PositionSizeDecreaseExecuted',
  'TradePositivePnlWithdrawn',
  'TradeHoldingFeesManuallyRealized',
  'TradeNegativePnlManuallyRealized',
  'FeesProcessed',
  'TradingCallbackExecuted',
  'ReferrerRegistered',
  'ReferrerRewardDistributed',
  'AllyRewardDistributed',
  'ReferrerRewardsClaimed',
  'DiamondCut',
] as const satisfies readonly DiamondLogName[];

/** Logs that can begin an order; their transactions may contain a tag. */
const BEGINNINGS: ReadonlySet<DiamondLogName> = new Set<DiamondLogName>([
  'PendingOrderStored',
  'PriceRequested',
  'OpenOrderPlaced',
  'TradeStored',
  'TradeTpUpdated',
  'TradeSlUpdated',
]);

/** `TradeType` of a position; the others are resting orders. */
export const POSITION = 0;

/** A position is stored by the oracle's answer, whose transaction is not that of the order. */
export const begins = (log: DiamondLog): boolean =>
  BEGINNINGS.has(log.name) && (log.name !== 'TradeStored' || log.args.trade.tradeType !== POSITION);

/** Position of a log on its chain. */
export interface LogPlace {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly txHash: Hex;
  readonly logIndex: number;
  /** Epoch ms of its block. */
  readonly at: number;
}

export type DiamondLog = {
  readonly [Name in DiamondLogName]: { readonly name: Name; readonly args: DiamondLogArgs[Name]; readonly place: LogPlace };
}[DiamondLogName];

export type LogNamed<Name extends DiamondLogName> = Extract<DiamondLog, { readonly name: Name }>;

/** What the Diamond logged in one transaction. */
export interface TransactionReceipt {
  readonly place: Omit<LogPlace, 'logIndex'>;
  readonly raw: readonly RawLog[];
  /** Those that are interpreted, in their order. */
  readonly logs: readonly DiamondLog[];
  /** Those that are not known to this release, or not in this form. */
  readonly unreadable: readonly RawLog[];
}

/** A log as the node gave it. */
export interface RawLog {
  readonly logIndex: number;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}
