import type { Hex } from '../types.js';

/**
 * Every function of the Diamond that the gateway calls, with its selector. They are checked at start, because a facet may be missing on a
 * chain or removed by an upgrade. Tests compare the list with the encoders and the ABI.
 */

interface WriteFunction {
  readonly selector: Hex;
  /** What is unavailable without it, for the operator. */
  readonly turnsOff: string;
}

export const WRITE_FUNCTIONS = {
  openTrade: { selector: '0x5bfcc4f8', turnsOff: 'opening positions and placing orders' },
  closeTradeMarket: { selector: '0x36ce736b', turnsOff: 'closing positions' },
  decreasePositionSize: { selector: '0xa7cac572', turnsOff: 'closing positions in part' },
  updateLeverage: { selector: '0x0bce9aaa', turnsOff: 'changing leverage and margin' },
  updateOpenOrder: { selector: '0xa4bb127e', turnsOff: 'changing resting orders' },
  cancelOpenOrder: { selector: '0x85886333', turnsOff: 'cancelling resting orders and changing their size' },
  updateTp: { selector: '0xf401f2bb', turnsOff: 'setting take profits' },
  updateSl: { selector: '0xb5d9e9d0', turnsOff: 'setting stop losses' },
  updateMaxClosingSlippageP: { selector: '0x9e8433d0', turnsOff: 'closings and levels with a slippage of their own' },
  cancelOrderAfterTimeout: { selector: '0xb6919540', turnsOff: 'taking collateral back from requests that ran out of time' },
  multicall: { selector: '0xac9650d8', turnsOff: 'whatever takes several calls at once' },
  delegatedTradingAction: { selector: '0x737b84cd', turnsOff: 'whatever an agent or the relayer sends for a trader' },
  setTradingDelegate: { selector: '0x604755cf', turnsOff: 'delegating to an agent' },
  removeTradingDelegate: { selector: '0x031c722b', turnsOff: 'ending a delegation' },
} as const satisfies Record<string, WriteFunction>;

export type WriteName = keyof typeof WRITE_FUNCTIONS;

export const READ_FUNCTIONS = {
  calculateFeeAmount: '0x4f09a236',
  fees: '0x4acc79ed',
  feesCount: '0x658de48a',
  getAllPairsRestrictedMaxLeverage: '0x678b3fb0',
  getCollateralPriceUsd: '0xbbb4e3f9',
  getCollaterals: '0x78b92636',
  getDepthBandsMapping: '0xd40e0d20',
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
