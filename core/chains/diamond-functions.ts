import type { Hex } from '../types.js';

/**
 * Every function of the Diamond that the gateway calls. The encoder, the relayer's policy, the checks at start and the ABI read these rows;
 * tests compare them with the contracts, the client's verifier and the script that verifies proofs. A facet may be missing on a chain or
 * removed by an upgrade.
 */

/** A struct that signatures name. */
export const TRADE_STRUCT =
  'struct Trade { address user; uint32 index; uint16 pairIndex; uint24 leverage; bool long; bool isOpen; uint8 collateralIndex; uint8 tradeType; uint120 collateralAmount; uint64 openPrice; uint64 tp; uint64 sl; bool isCounterTrade; uint160 positionSizeToken; uint24 __placeholder }';

/** What a trading call does: creates or increases risk · closes · changes an order, a level or the margin · only takes something back. */
export type CallNature = 'opens' | 'closes' | 'cares' | 'cancels';

interface WriteFunction {
  readonly signature: `function ${string}`;
  readonly selector: Hex;
  /** What is unavailable without it, for the operator. */
  readonly turnsOff: string;
  /**
   * The relayer may sign a call with a nature, for a trader. Of the others it signs only those around such calls. A function gets its nature
   * together with the facade action that its calls are derived from.
   */
  readonly nature: CallNature | null;
  /** The client checks its arguments, looks inside it, or makes it itself. */
  readonly client: 'verifies' | 'unwraps' | 'makes';
}

export const WRITE_FUNCTIONS = {
  openTrade: {
    signature: 'function openTrade(Trade trade, uint16 maxSlippageP, address referrer)',
    selector: '0x5bfcc4f8',
    turnsOff: 'opening positions and placing orders',
    nature: 'opens',
    client: 'verifies',
  },
  closeTradeMarket: {
    signature: 'function closeTradeMarket(uint32 index, uint64 expectedPrice)',
    selector: '0x36ce736b',
    turnsOff: 'closing positions',
    nature: 'closes',
    client: 'verifies',
  },
  decreasePositionSize: {
    signature: 'function decreasePositionSize(uint32 index, uint120 collateralDelta, uint24 leverageDelta, uint64 expectedPrice)',
    selector: '0xa7cac572',
    turnsOff: 'closing positions in part',
    nature: 'closes',
    client: 'verifies',
  },
  increasePositionSize: {
    signature:
      'function increasePositionSize(uint32 index, uint120 collateralDelta, uint24 leverageDelta, uint64 expectedPrice, uint16 maxSlippageP)',
    selector: '0x24058ad3',
    turnsOff: 'adding to positions',
    nature: null,
    client: 'verifies',
  },
  withdrawPositivePnl: {
    signature: 'function withdrawPositivePnl(uint32 index, uint120 amountCollateral)',
    selector: '0x73c96d13',
    turnsOff: 'withdrawing the profit of open positions',
    nature: null,
    client: 'verifies',
  },
  updateLeverage: {
    signature: 'function updateLeverage(uint32 index, uint24 newLeverage)',
    selector: '0x0bce9aaa',
    turnsOff: 'changing leverage and margin',
    nature: 'cares',
    client: 'verifies',
  },
  updateOpenOrder: {
    signature: 'function updateOpenOrder(uint32 index, uint64 triggerPrice, uint64 tp, uint64 sl, uint16 maxSlippageP)',
    selector: '0xa4bb127e',
    turnsOff: 'changing resting orders',
    nature: 'cares',
    client: 'verifies',
  },
  cancelOpenOrder: {
    signature: 'function cancelOpenOrder(uint32 index)',
    selector: '0x85886333',
    turnsOff: 'cancelling resting orders and changing their size',
    nature: 'cancels',
    client: 'verifies',
  },
  updateTp: {
    signature: 'function updateTp(uint32 index, uint64 newTp)',
    selector: '0xf401f2bb',
    turnsOff: 'setting take profits',
    nature: 'cares',
    client: 'verifies',
  },
  updateSl: {
    signature: 'function updateSl(uint32 index, uint64 newSl)',
    selector: '0xb5d9e9d0',
    turnsOff: 'setting stop losses',
    nature: 'cares',
    client: 'verifies',
  },
  updateMaxClosingSlippageP: {
    signature: 'function updateMaxClosingSlippageP(uint32 index, uint16 maxSlippageP)',
    selector: '0x9e8433d0',
    turnsOff: 'closings and levels with a slippage of their own',
    nature: 'cares',
    client: 'verifies',
  },
  cancelOrderAfterTimeout: {
    signature: 'function cancelOrderAfterTimeout(uint32 orderIndex)',
    selector: '0xb6919540',
    turnsOff: 'taking collateral back from requests that ran out of time',
    nature: 'cancels',
    client: 'verifies',
  },
  multicall: {
    signature: 'function multicall(bytes[] data) returns (bytes[] results)',
    selector: '0xac9650d8',
    turnsOff: 'whatever takes several calls at once',
    nature: null,
    client: 'unwraps',
  },
  delegatedTradingAction: {
    signature: 'function delegatedTradingAction(address trader, bytes callData) returns (bytes)',
    selector: '0x737b84cd',
    turnsOff: 'whatever an agent or the relayer sends for a trader',
    nature: null,
    client: 'unwraps',
  },
  setTradingDelegate: {
    signature: 'function setTradingDelegate(address delegate)',
    selector: '0x604755cf',
    turnsOff: 'delegating to an agent',
    nature: null,
    client: 'makes',
  },
  removeTradingDelegate: {
    signature: 'function removeTradingDelegate()',
    selector: '0x031c722b',
    turnsOff: 'ending a delegation',
    nature: null,
    client: 'makes',
  },
} as const satisfies Record<string, WriteFunction>;

export type WriteName = keyof typeof WRITE_FUNCTIONS;

/** The nature of each call that the relayer may sign, by selector. */
export const CALL_NATURES: ReadonlyMap<string, CallNature> = new Map(
  Object.values<WriteFunction>(WRITE_FUNCTIONS).flatMap(({ selector, nature }) => (nature === null ? [] : [[selector, nature] as const])),
);

/** Of the calls that trade, as a relayer makes them: alone, several at once, or for a trader. */
export const TRADING_SELECTORS: ReadonlySet<string> = new Set(
  Object.values<WriteFunction>(WRITE_FUNCTIONS).flatMap(({ selector, client }) => (client === 'makes' ? [] : [selector])),
);

export const READ_FUNCTIONS = {
  calculateFeeAmount: '0x4f09a236',
  fees: '0x4acc79ed',
  feesCount: '0x658de48a',
  getAllPairsRestrictedMaxLeverage: '0x678b3fb0',
  getCollateralPriceUsd: '0xbbb4e3f9',
  getCollaterals: '0x78b92636',
  getCounters: '0x0212f0d6',
  getDepthBandsMapping: '0xd40e0d20',
  getFeeTiers: '0xe9a4d24f',
  getFeeTiersTraderDailyInfo: '0x794d8520',
  getFeeTiersTraderInfo: '0xacbaaf33',
  getMarketOrdersTimeoutBlocks: '0xa4bdee80',
  getNegPnlCumulVolMultiplier: '0xc1681679',
  getOiWindows: '0x0d12f7cb',
  getOiWindowsSettings: '0xb56df676',
  getPairBorrowingFeeData: '0xf4d6301f',
  getPairBorrowingFeeParams: '0x3d64f422',
  getPairCounterTradeFeeRateMultiplier: '0xb3a611f4',
  getPairCounterTradeMaxLeverage: '0x25b3609b',
  getPairDepthBandsArray: '0x35bf34e8',
  getPairFactors: '0x8db9e2da',
  getPairFundingFeeData: '0xb26b98fd',
  getPairFundingFeeParams: '0x606a9c45',
  getPairGlobalParamsArray: '0x6fa58305',
  getPairLiquidationParams: '0x6633ced6',
  getPairMaxOi: '0x5667b5c0',
  getPairOisAfterV10Collateral: '0x59ebb746',
  getPairOisAfterV10Token: '0x040b8df7',
  getPairOisBeforeV10Collateral: '0x951abd74',
  getPairSkewDepths: '0xae3ac00c',
  getPendingOrder: '0xc6e729bb',
  getPendingOrders: '0x4c73cb25',
  getReferrerDetails: '0xcbe0f32e',
  getTrade: '0x15878e07',
  getTradeBorrowingFee: '0x19e31460',
  getTradeFeeParams: '0x31b501e9',
  getTradeFeesDataArray: '0x2b9455fd',
  getTradeInfo: '0x75cd812d',
  getTradeInfos: '0x0d1e3c94',
  getTradeUiRealizedPnlDataArray: '0x047314c5',
  getTraderActiveReferrer: '0x036787e5',
  getTraderFeeTiersEnrollment: '0x508cbfbe',
  getTraderLastReferrer: '0x46dbf572',
  getTrades: '0x4bfad7c0',
  getTradesLiquidationParams: '0xf7746f3c',
  getTradingActivated: '0x4115c122',
  getTradingDelegate: '0x4aac6480',
  getUserPriceImpact: '0x5a1449ab',
  groups: '0x96324bd4',
  groupsCount: '0x885e2750',
  pairSpreadPArray: '0x842a91d6',
  pairs: '0xb91ac788',
  pairsCount: '0xb81b2b71',
  withinMaxBorrowingGroupOi: '0x801c7961',
} as const satisfies Record<string, Hex>;

export const isWriteName = (name: string): name is WriteName => Object.hasOwn(WRITE_FUNCTIONS, name);

/** All of them, by name. */
export const USED_SELECTORS: ReadonlyMap<string, Hex> = new Map<string, Hex>([
  ...Object.entries(WRITE_FUNCTIONS).map(([name, { selector }]): [string, Hex] => [name, selector]),
  ...Object.entries(READ_FUNCTIONS),
]);
