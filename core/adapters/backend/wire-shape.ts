/**
 * What the parsers of this folder read, as data, to find differences in upstream's answers. `fields` are parsed, `also` are known and
 * ignored.
 */
export type WireKind = 'integer' | 'number' | 'flag' | 'text' | 'time';

export interface WireFields {
  readonly fields: Readonly<Record<string, WireShape>>;
  readonly also: readonly string[];
}

export type WireShape =
  | { readonly kind: WireKind }
  /** `blanks`: null marks an absent element. */
  | { readonly list: WireShape; readonly blanks: boolean }
  /** An object whose keys are data. */
  | { readonly values: WireShape }
  | WireFields;

const kind = (name: WireKind): WireShape => ({ kind: name });
const [integer, number, flag, text, time] = [kind('integer'), kind('number'), kind('flag'), kind('text'), kind('time')];
const list = (of: WireShape): WireShape => ({ list: of, blanks: false });
/** Indexed by pair, with gaps. */
const column = (of: WireShape): WireShape => ({ list: of, blanks: true });
const object = (fields: WireFields['fields'], ...also: readonly string[]): WireShape => ({ fields, also });
const integers = (...names: readonly string[]): WireFields['fields'] => Object.fromEntries(names.map((name) => [name, integer]));

const liquidation = object(integers('maxLiqSpreadP', 'startLiqThresholdP', 'endLiqThresholdP', 'startLeverage', 'endLeverage'));

const collateral = object(
  {
    collateralIndex: integer,
    collateral: text,
    symbol: text,
    isActive: flag,
    prices: object({ collateralPriceUsd: number }, 'gnsPriceCollateral', 'gnsPriceUsd'),
    collateralConfig: object(integers('precision', 'precisionDelta', 'decimals')),
    pairSkewDepths: column(integer),
    fundingFees: object({
      pairGlobalParams: column(object(integers('maxSkewCollateral'))),
      pairParams: column(
        object({
          ...integers('skewCoefficientPerYear', 'absoluteVelocityPerYearCap', 'absoluteRatePerSecondCap', 'thetaThresholdUsd'),
          fundingFeesEnabled: flag,
          aprMultiplierEnabled: flag,
        }),
      ),
      pairData: column(object(integers('accFundingFeeLongP', 'accFundingFeeShortP', 'lastFundingRatePerSecondP', 'lastFundingUpdateTs'))),
    }),
    pairOis: column(
      object({
        beforeV10: object(integers('long', 'short', 'max')),
        collateral: object(integers('oiLongCollateral', 'oiShortCollateral')),
        token: object(integers('oiLongToken', 'oiShortToken')),
      }),
    ),
    borrowingFees: object(
      {
        v2: object({
          pairParams: column(object(integers('borrowingRatePerSecondP'))),
          pairData: column(object(integers('accBorrowingFeeP', 'lastBorrowingUpdateTs'))),
        }),
      },
      'v1',
    ),
  },
  'gToken',
);

export const TRADING_VARIABLES_SHAPE = object(
  {
    lastRefreshed: time,
    tradingState: integer,
    marketOrdersTimeoutBlocks: integer,
    pairs: column(object({ from: text, to: text, ...integers('spreadP', 'groupIndex', 'feeIndex') })),
    groups: list(object({ name: text, ...integers('minLeverage', 'maxLeverage') })),
    fees: list(object(integers('totalPositionSizeFeeP', 'totalLiqCollateralFeeP', 'oraclePositionSizeFeeP', 'minPositionSizeUsd'))),
    pairInfos: object(
      {
        maxLeverages: column(integer),
        pairDepthBands: column(object(integers('aboveSlot1', 'aboveSlot2', 'belowSlot1', 'belowSlot2'))),
        pairFactors: column(
          object({
            ...integers('protectionCloseFactor', 'protectionCloseFactorBlocks', 'cumulativeFactor'),
            exemptOnOpen: flag,
            exemptAfterProtectionCloseFactor: flag,
          }),
        ),
      },
      'pairDepths',
    ),
    depthBandsMapping: object(integers('slot1', 'slot2')),
    liquidationParams: object({ pairs: column(liquidation) }, 'groups'),
    counterTradeSettings: column(object(integers('maxLeverage', 'feeRateMultiplier'))),
    oiWindowsSettings: object(integers('startTs', 'windowsDuration', 'windowsCount')),
    oiWindows: column({ values: object(integers('oiLongUsd', 'oiShortUsd')) }),
    negPnlCumulVolMultiplier: integer,
    collaterals: list(collateral),
    isForexOpen: flag,
    isStocksOpen: flag,
    isIndicesOpen: flag,
    isCommoditiesOpen: flag,
  },
  'refreshId',
);

/** Position is the pair index. */
export const CHARTS_SHAPE = object({ time, closes: column(number), indexPrices: column(number) }, 'opens', 'highs', 'lows');

const candle = object({ time, open: number, high: number, low: number, close: number }, 'volume');
export const CHART_HISTORY_SHAPE = object({ table: list(candle) });

export const TRADE_HISTORY_SHAPE = list(
  object(
    { date: time, pair: text, action: text, price: number, size: number, leverage: number, collateralPriceUsd: number, tx: text },
    ...['id', 'address', 'tradeIndex', 'long', 'block', 'marketPrice', 'leverageDelta', 'collateralDelta', 'collateralIndex'],
    ...['tradeId', 'isCounterTrade', 'pnl', 'pnl_net', 'meta', 'chainId'],
  ),
);

/** All known events of the chain's stream; unused ones are ignored like unknown ones. */
export const EVENT_NAMES: ReadonlySet<string> = new Set([
  ...['tradingVariables', 'currentBlock', 'currentL1Block', 'registerTrade', 'updateTrade', 'unregisterTrade', 'openTrades'],
  ...['liveEvent', 'liveEvents', 'unconfirmedEvent', 'event', 'new-trade-history', 'openInterestPairUpdated'],
  ...['openInterestGroupUpdated', 'accBorrowingFeesPairUpdated', 'accBorrowingFeesGroupUpdated'],
  ...['borrowingPairFeePerBlockCapUpdated', 'pendingAccFundingFeesStored', 'pendingAccBorrowingFeesStored', 'oiWindowUpdated'],
  ...['collateralBalances', 'feeTiersTraderInfoUpdated', 'deepReorg', 'updateLeverage', 'updatePositionSize'],
]);
