import type { Address } from '../../core/types.js';
import {
  createDiamondReader,
  readBalance,
  type DiamondLog,
  type DiamondReader,
  type RpcRead,
  type Token,
  type ViewResult,
} from './diamond-reader.js';
import { structText, type WireValue } from './wire-format.js';
import { frame, touchedTrade, type ChainFrame } from './chain-events.js';

/** `TradeContainer[]` of production: one trader's current trades in the contract. */
export async function readTrades(read: RpcRead, diamondAddress: Address, trader: Address): Promise<WireValue[]> {
  const diamond = createDiamondReader(read, diamondAddress, 'latest');
  const [trades, infos, liquidation] = await Promise.all([
    diamond.view('getTrades', [trader]),
    diamond.view('getTradeInfos', [trader]),
    diamond.view('getTradesLiquidationParams', [trader]),
  ]);
  const keys = [trades.map(({ user }) => user), trades.map(({ index }) => index)] as const;
  const [fees, realized] = await Promise.all([
    diamond.view('getTradeFeesDataArray', keys),
    diamond.view('getTradeUiRealizedPnlDataArray', keys),
  ]);
  return trades.map((trade, at) => container([trade, infos[at], liquidation[at], fees[at], realized[at]]));
}

/** One trade; null if it is gone. Reads of one turn of the event loop are batched. */
export async function readTrade(diamond: DiamondReader, trader: Address, index: number): Promise<WireValue> {
  const [trade, info, liquidation, fees, [realized]] = await Promise.all([
    diamond.view('getTrade', [trader, index]),
    diamond.view('getTradeInfo', [trader, index]),
    diamond.view('getTradeLiquidationParams', [trader, index]),
    diamond.view('getTradeFeesData', [trader, index]),
    diamond.view('getTradeUiRealizedPnlDataArray', [[trader], [index]]),
  ]);
  return trade.isOpen ? container([trade, info, liquidation, fees, realized]) : null;
}

type StoredTrade = Extract<DiamondLog, { readonly name: 'TradeStored' }>['args'];

/** What `readTrade` returns right after an order began to rest, from the event alone: only positions are charged and realise profit. */
const storedOrder = ({ trade, tradeInfo, liquidationParams }: StoredTrade): WireValue =>
  container([trade, tradeInfo, liquidationParams, NO_FEES, NOTHING_REALIZED]);

const NO_FEES: ViewResult<'getTradeFeesData'> = {
  realizedTradingFeesCollateral: 0n,
  realizedPnlCollateral: 0n,
  manuallyRealizedNegativePnlCollateral: 0n,
  alreadyTransferredNegativePnlCollateral: 0n,
  virtualAvailableCollateralInDiamond: 0n,
  __placeholder: 0n,
  initialAccFundingFeeP: 0n,
  initialAccBorrowingFeeP: 0n,
};

const NOTHING_REALIZED: ViewResult<'getTradeUiRealizedPnlDataArray'>[number] = {
  realizedTradingFeesCollateral: 0n,
  realizedOldBorrowingFeesCollateral: 0n,
  realizedNewBorrowingFeesCollateral: 0n,
  realizedFundingFeesCollateral: 0n,
  realizedPnlPartialCloseCollateral: 0n,
  pnlWithdrawnCollateral: 0n,
};

type Part = object | undefined;

const container = ([trade, info, liquidation, fees, realized]: readonly [Part, Part, Part, Part, Part]): WireValue => ({
  trade: structText(trade ?? null),
  tradeInfo: structText(info ?? null),
  liquidationParams: structText(liquidation ?? null),
  initialAccFees: { accPairFee: '0', accGroupFee: '0', block: '0' },
  tradeFeesData: structText(fees ?? null),
  uiRealizedPnlData: structText(realized ?? null),
});

export async function readTraders(read: RpcRead, diamondAddress: Address): Promise<readonly Address[]> {
  const count = Number(await createDiamondReader(read, diamondAddress, 'latest').view('getTradersCount', []));
  return count === 0 ? [] : createDiamondReader(read, diamondAddress, 'latest').view('getTraders', [0, count - 1]);
}

/** True for a long; the contract keeps the side of a closed trade. */
export async function readSide(read: RpcRead, diamondAddress: Address, trader: Address, index: number): Promise<boolean> {
  return (await createDiamondReader(read, diamondAddress, 'latest').view('getTrade', [trader, index])).long;
}

/** `/user-trading-variables/{address}` of production, as far as the contract and the tokens provide it. */
export async function readUser(read: RpcRead, diamondAddress: Address, trader: Address, tokens: readonly Token[]): Promise<WireValue> {
  const diamond = createDiamondReader(read, diamondAddress, 'latest');
  const [pending, balances] = await Promise.all([
    diamond.view('getPendingOrders', [trader]),
    Promise.all(tokens.map((token) => readBalance(read, token.address, trader, diamondAddress))),
  ]);
  return {
    pendingMarketOrdersIds: pending.map(({ user, index }) => structText({ user, index })),
    pendingMarketOrders: pending.map(structText),
    collaterals: tokens.map(({ decimals }, at) => ({
      balance: String(balances[at]?.balance ?? 0n),
      allowance: String(balances[at]?.allowance ?? 0n),
      decimals,
    })),
    protectionCloseFactorWhitelist: false,
    userPriceImpact: [],
  };
}

const POSITION = 0;

const keyOf = (user: Address, index: number | bigint): string => `${user}:${index}`;

/** The trade of an event; events have two names for its owner. */
function keyIn({ args }: DiamondLog): string | null {
  if ('user' in args && 'index' in args) return keyOf(args.user, args.index);
  return 'trader' in args && 'index' in args ? keyOf(args.trader, args.index) : null;
}

/**
 * Trades whose final state follows from the logs of a block range alone: orders that began to rest in it, and null for trades closed in
 * it. An order with any other event is left out, as not every event that changes a trade contains the change.
 */
function tradesFromLogs(logs: readonly DiamondLog[]): Map<string, WireValue> {
  const trades = new Map<string, WireValue>();
  for (const log of logs) {
    const key = keyIn(log);
    if (key === null || log.name === 'OpenOrderPlaced') continue;
    if (log.name === 'TradeClosed') trades.set(key, null);
    else if (log.name === 'TradeStored' && log.args.trade.tradeType !== POSITION) trades.set(key, storedOrder(log.args));
    else if (trades.get(key) !== null) trades.delete(key);
  }
  return trades;
}

/** A frame for each log of a trade that is still open, with its current state; views are read only for what the logs do not contain. */
export async function readTouchedTrades(diamond: DiamondReader, logs: readonly DiamondLog[]): Promise<ReadonlyMap<DiamondLog, ChainFrame>> {
  const containers = new Map<string, WireValue | Promise<WireValue>>(tradesFromLogs(logs));
  const containerOf = (user: Address, index: number): WireValue | Promise<WireValue> => {
    const key = keyOf(user, index);
    const container = containers.get(key);
    if (container !== undefined) return container;
    const asked = readTrade(diamond, user, index);
    containers.set(key, asked);
    return asked;
  };
  const frames = new Map<DiamondLog, ChainFrame>();
  const readOne = async (log: DiamondLog): Promise<void> => {
    const touched = touchedTrade(log);
    const container = touched && (await containerOf(touched.user, touched.index));
    if (touched && container !== null) frames.set(log, frame(touched.frame, container));
  };
  await Promise.all(logs.map(readOne));
  return frames;
}
