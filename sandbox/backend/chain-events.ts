import type { Address } from '../../core/types.js';
import type { DiamondLog } from './diamond-reader.js';
import { structText, type WireValue } from './wire-format.js';

/** A frame of the chain's event stream; a history row stands next to the name, everything else in `value`. */
export type ChainFrame = { readonly name: string } & Readonly<Record<string, WireValue>>;

export const frame = (name: string, value: WireValue): ChainFrame => ({ name, value });

const GOVERNANCE = new Set<DiamondLog['name']>([
  'TradingActivatedUpdated',
  'MarketOrdersTimeoutBlocksUpdated',
  'CollateralAdded',
  'CollateralUpdated',
  'PairAdded',
  'PairUpdated',
  'GroupUpdated',
  'FeeUpdated',
  'PairCustomMaxLeverageUpdated',
  'PairDepthBandsUpdated',
  'DepthBandsMappingUpdated',
]);

/** Whether governance parameters changed and must be read again. */
export const changesRules = (log: DiamondLog): boolean => GOVERNANCE.has(log.name);

/** Events of requests, of waiting orders and of order changes: they do not change open interest. */
const ORDERS_ONLY = new Set<DiamondLog['name']>([
  'MarketOrderInitiated',
  'TriggerOrderInitiated',
  'LeverageUpdateInitiated',
  'PositionSizeUpdateInitiated',
  'PositivePnlWithdrawalInitiated',
  'PendingOrderStored',
  'PriceRequested',
  'ChainlinkRequested',
  'PendingOrderClosed',
  'MarketOpenCanceled',
  'MarketCloseCanceled',
  'TriggerOrderCanceled',
  'ChainlinkCallbackTimeout',
  'CollateralReturnedAfterTimeout',
  'PriceReceived',
  'SignedPricesReceived',
  'ChainlinkFulfilled',
  'TradingCallbackExecuted',
  'TradeStored',
  'OpenOrderPlaced',
  'OpenOrderDetailsUpdated',
  'OpenLimitUpdated',
  'OpenLimitCanceled',
  'TradeTpUpdated',
  'TradeSlUpdated',
  'TradeMaxClosingSlippagePUpdated',
]);

/** Whether open interest, fees or windows may have changed. */
export const movesExposure = (log: DiamondLog): boolean => !ORDERS_ONLY.has(log.name);

/** The pairs whose values trading may have changed; null if an event does not name its pair and no other of its kind does. */
export function movedPairs(logs: readonly DiamondLog[]): readonly number[] | null {
  const pairs = logs.flatMap(({ args }) => ('pairIndex' in args ? [Number(args.pairIndex)] : []));
  return pairs.length === 0 ? null : [...new Set(pairs)];
}

const LIVE = new Set<DiamondLog['name']>([
  'MarketOrderInitiated',
  'MarketExecuted',
  'LimitExecuted',
  'MarketOpenCanceled',
  'MarketCloseCanceled',
  'OpenOrderPlaced',
  'OpenLimitUpdated',
  'OpenLimitCanceled',
  'TriggerOrderCanceled',
  'ChainlinkCallbackTimeout',
  'LeverageUpdateExecuted',
  'PositionSizeIncreaseExecuted',
  'PositionSizeDecreaseExecuted',
]);

/** Frames that depend on the log alone. */
export function framesOf(log: DiamondLog): ChainFrame[] {
  const live = LIVE.has(log.name) ? [frame('liveEvent', { event: log.name, returnValues: structText(log.args) })] : [];
  switch (log.name) {
    case 'PendingAccFundingFeesStored':
      return [...live, frame('pendingAccFundingFeesStored', pairData(log.args))];
    case 'PendingAccBorrowingFeesStored':
      return [...live, frame('pendingAccBorrowingFeesStored', pairData(log.args))];
    case 'TradeClosed':
      return [...live, frame('unregisterTrade', structText({ user: log.args.user, index: log.args.index }))];
    default:
      return live;
  }
}

const pairData = (args: { collateralIndex: number; pairIndex: number; data: object }): WireValue =>
  structText({ collateralIndex: args.collateralIndex, pairIndex: args.pairIndex, pairData: args.data });

export interface TouchedTrade {
  readonly frame: 'registerTrade' | 'updateTrade';
  readonly user: Address;
  readonly index: number;
}

/** The trade whose container must be sent. */
export function touchedTrade(log: DiamondLog): TouchedTrade | null {
  switch (log.name) {
    case 'TradeStored':
      return { frame: 'registerTrade', user: log.args.user, index: log.args.index };
    case 'TradePositionUpdated':
    case 'TradeTpUpdated':
    case 'TradeSlUpdated':
    case 'OpenOrderDetailsUpdated':
    case 'TradeMaxClosingSlippagePUpdated':
      return { frame: 'updateTrade', user: log.args.user, index: log.args.index };
    default:
      return null;
  }
}
