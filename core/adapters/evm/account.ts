import { erc20Abi, type PublicClient } from 'viem';
import type {
  AccountFacts,
  ChainTrade,
  OpenOrders,
  OpenTradesQuery,
  TokenFunds,
  ReadTrade,
  ReadTrades,
  TradeGuess,
  Wallet,
  WalletQuery,
  WholeAccount,
} from '../../ports/account-chain.js';
import type { ChainDefinition } from '../../chains/chains.js';
import { changesTrade, collateralInOrders } from '../../domain/collateral-in-orders.js';
import type { TradeStruct } from '../../domain/diamond-log.js';
import type { LiquidationParams } from '../../domain/market.js';
import type { Address } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';
import { absentWhenReverted, nextFee } from './fee-multiplier.js';
import { listRequests, listTrades, viewAt, type Listing } from './list-orders.js';

/** Reads of one account. Calls of one turn of the event loop are sent as one batch. */

const ONE_FEE = 1_000_000n;
/** `TradeType`; the others are resting orders. */
const POSITION = 0;

export async function accountFacts(
  client: PublicClient,
  { diamond }: ChainDefinition,
  trader: Address,
  tokens: readonly Address[],
): Promise<AccountFacts> {
  const view = { address: diamond, abi: diamondAbi } as const;
  const [amounts, fee, referrer] = await Promise.all([
    Promise.all(tokens.map((token) => tokenFacts(client, { token, trader, diamond }).catch(absentWhenReverted))),
    nextFee(client, diamond, trader, ONE_FEE).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getTraderActiveReferrer', args: [trader] }).catch(absentWhenReverted),
  ]);
  const hasReferrer = referrer !== null && BigInt(referrer) !== 0n;
  return { tokens: amounts, feeMultiplier: fee, referrer: hasReferrer ? (referrer.toLowerCase() as Address) : null };
}

export async function referrerOf(client: PublicClient, { diamond }: ChainDefinition, trader: Address): Promise<Address | null> {
  const referrer = await client
    .readContract({ address: diamond, abi: diamondAbi, functionName: 'getTraderLastReferrer', args: [trader] })
    .catch(absentWhenReverted);
  return referrer === null || BigInt(referrer) === 0n ? null : (referrer.toLowerCase() as Address);
}

async function tokenFacts(
  client: PublicClient,
  {
    token,
    trader,
    diamond,
    block,
  }: { readonly token: Address; readonly trader: Address; readonly diamond: Address; readonly block?: bigint },
): Promise<TokenFunds> {
  const read = { address: token, abi: erc20Abi, ...(block === undefined ? {} : { blockNumber: block }) } as const;
  const [balance, allowance] = await Promise.all([
    client.readContract({ ...read, functionName: 'balanceOf', args: [trader] }),
    client.readContract({ ...read, functionName: 'allowance', args: [trader, diamond] }),
  ]);
  return { balance, allowance };
}

/** The contract has two functions for a trade; where one is gone, the other is asked. */
export function chainTrades(
  client: PublicClient,
  { diamond }: ChainDefinition,
  refs: readonly { readonly trader: Address; readonly tradeIndex: number }[],
  block: bigint | null,
): Promise<ChainTrade[]> {
  const view = { address: diamond, abi: diamondAbi, ...(block === null ? {} : { blockNumber: block }) } as const;
  return Promise.all(
    refs.map(async ({ trader, tradeIndex }) => {
      const [trade, info] = await Promise.all([
        client.readContract({ ...view, functionName: 'getTrade', args: [trader, tradeIndex] }).catch(absentWhenReverted),
        client.readContract({ ...view, functionName: 'getTradeInfo', args: [trader, tradeIndex] }).catch(absentWhenReverted),
      ]);
      return trade !== null && info !== null ? { trade, info } : listedTrade(client, view, trader, tradeIndex);
    }),
  );
}

async function listedTrade(
  client: PublicClient,
  view: { readonly address: Address; readonly abi: typeof diamondAbi; readonly blockNumber?: bigint },
  trader: Address,
  tradeIndex: number,
): Promise<ChainTrade> {
  const [trades, infos] = await Promise.all([
    client.readContract({ ...view, functionName: 'getTrades', args: [trader] }),
    client.readContract({ ...view, functionName: 'getTradeInfos', args: [trader] }),
  ]);
  const at = trades.findIndex(({ index }) => index === tradeIndex);
  const [trade, info] = [trades[at], infos[at]];
  if (!trade || !info) throw new Error(`the contract does not list trade ${tradeIndex}`);
  return { trade, info };
}

export async function openOrders(
  client: PublicClient,
  { diamond }: ChainDefinition,
  trader: Address,
  block: bigint | null,
): Promise<OpenOrders | null> {
  const view = { address: diamond, abi: diamondAbi, ...(block === null ? {} : { blockNumber: block }) } as const;
  const [trades, infos, pending] = await Promise.all([
    client.readContract({ ...view, functionName: 'getTrades', args: [trader] }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getTradeInfos', args: [trader] }).catch(absentWhenReverted),
    listRequests(client, view, trader),
  ]);
  if (trades === null || infos === null) return null;
  const open = trades.flatMap((trade, at): ChainTrade[] => {
    const info = infos[at];
    return info && trade.isOpen ? [{ trade, info }] : [];
  });
  const isPosition = ({ trade }: ChainTrade): boolean => trade.tradeType === POSITION;
  return {
    positions: open.filter(isPosition),
    resting: open.filter((one) => !isPosition(one)),
    pending: pending.all,
  };
}

const readTrades = (client: PublicClient, diamond: Address, { trader, block }: Pick<WalletQuery, 'trader' | 'block'>) =>
  listTrades(client, viewAt(diamond, block.number), trader);

/** One round trip, and a second one where a request is left of a trade that was closed. */
export async function wallet(
  client: PublicClient,
  { diamond }: ChainDefinition,
  query: WalletQuery,
  reading: Promise<Listing<TradeStruct>> = readTrades(client, diamond, query),
): Promise<Wallet> {
  const { trader, block, tokens, priced = [] } = query;
  const view = { address: diamond, abi: diamondAbi, blockNumber: block.number } as const;
  const [trades, requests, funds, prices] = await Promise.all([
    reading,
    listRequests(client, view, trader),
    Promise.all(tokens.map((token) => tokenFacts(client, { token, trader, diamond, block: block.number }).catch(absentWhenReverted))),
    Promise.all(priced.map((index) => collateralPrice(client, diamond, { index, block: block.number }))),
  ]);
  const pricesUsd = new Map(priced.flatMap((index, at): [number, bigint][] => (prices[at] ? [[index, prices[at]]] : [])));
  const own = { block, tokens: funds, pricesUsd, isListed: trades.isListed && requests.isListed };
  if (trades.all === null || requests.all === null) return { ...own, inOrders: null };
  const open = trades.all.filter(({ isOpen }) => isOpen);
  const pending = requests.all;
  const changed = pending.filter(({ orderType }) => changesTrade(orderType)).map(({ trade }) => trade.index);
  const closed = await Promise.all(
    changed
      .filter((index) => !open.some((trade) => trade.index === index))
      .map((index) => client.readContract({ ...view, functionName: 'getTrade', args: [trader, index] }).catch(absentWhenReverted)),
  );
  const targets = [...open, ...closed].filter((trade) => trade !== null);
  if (targets.length < open.length + closed.length) return { ...own, inOrders: null };
  const resting = open.filter(({ tradeType }) => tradeType !== POSITION);
  return { ...own, inOrders: collateralInOrders({ resting, pending, targets }) };
}

/** 1e8; null where the contract has none. */
const collateralPrice = (
  client: PublicClient,
  diamond: Address,
  { index, block }: { readonly index: number; readonly block: bigint },
): Promise<bigint | null> =>
  client
    .readContract({ address: diamond, abi: diamondAbi, blockNumber: block, functionName: 'getCollateralPriceUsd', args: [index] })
    .catch(absentWhenReverted);

export async function wholeAccount(
  client: PublicClient,
  definition: ChainDefinition,
  query: OpenTradesQuery & WalletQuery,
): Promise<WholeAccount> {
  const reading = readTrades(client, definition.diamond, query);
  const [open, own] = await Promise.all([openTrades(client, definition, query, reading), wallet(client, definition, query, reading)]);
  return { ...open, ...own, isListed: open.isListed && own.isListed };
}

/** One round trip when every open trade was guessed, two otherwise. */
export async function openTrades(
  client: PublicClient,
  { diamond }: ChainDefinition,
  query: OpenTradesQuery,
  reading: Promise<Listing<TradeStruct>> = readTrades(client, diamond, query),
): Promise<ReadTrades> {
  const { trader, block, guesses } = query;
  const view = { address: diamond, abi: diamondAbi, blockNumber: block.number } as const;
  const [{ all, isListed }, infos, liquidation, collaterals, guessed] = await Promise.all([
    reading,
    client.readContract({ ...view, functionName: 'getTradeInfos', args: [trader] }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getTradesLiquidationParams', args: [trader] }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getCollaterals' }).catch(absentWhenReverted),
    readDetails(client, diamond, query, guesses),
  ]);
  const trades = all ?? query.expected;
  const missing = trades
    .filter(({ tradeType }) => tradeType === POSITION)
    .map((trade) => ({ ...trade, leverage: BigInt(trade.leverage) }))
    .filter((trade) => !guesses.some((guess) => isSame(guess, trade)));
  const details = new Map([...guessed, ...(await readDetails(client, diamond, query, missing))]);
  return {
    block,
    isListed,
    trades: trades.flatMap((trade, at): ReadTrade[] => {
      const own = details.get(trade.index);
      if (!own) return [];
      // Both list the trades in the order of the first; without it, what they list is unknown.
      const [info, params] = !isListed ? [] : [infos?.[at], liquidation?.[at]];
      const { precision, precisionDelta } = collaterals?.[trade.collateralIndex - 1] ?? {};
      const collateral = precision && precisionDelta ? { precision, precisionDelta } : null;
      return [{ trade, info: info ?? null, liquidation: params ? wide(params) : null, ...own, collateral }];
    }),
  };
}

const isSame = (a: TradeGuess, b: TradeGuess): boolean =>
  a.index === b.index &&
  a.pairIndex === b.pairIndex &&
  a.collateralIndex === b.collateralIndex &&
  a.long === b.long &&
  a.collateralAmount === b.collateralAmount &&
  a.leverage === b.leverage;

type Details = Pick<ReadTrade, 'fees' | 'borrowingV1' | 'takenOut' | 'pair'>;

async function readDetails(
  client: PublicClient,
  diamond: Address,
  { trader, block, priceOf }: OpenTradesQuery,
  trades: readonly TradeGuess[],
): Promise<Map<number, Details>> {
  if (trades.length === 0) return new Map();
  const view = { address: diamond, abi: diamondAbi, blockNumber: block.number } as const;
  const collateralIndices = trades.map(({ collateralIndex }) => collateralIndex);
  const pairIndices = trades.map(({ pairIndex }) => pairIndex);
  const traders = trades.map(() => trader);
  const pairs = [collateralIndices, pairIndices] as const;
  const own = [traders, trades.map(({ index }) => index)] as const;
  const [fees, realized, funding, borrowing, oi, spreads, prices, borrowingV1] = await Promise.all([
    client.readContract({ ...view, functionName: 'getTradeFeesDataArray', args: own }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getTradeUiRealizedPnlDataArray', args: own }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getPairFundingFeeData', args: pairs }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getPairBorrowingFeeData', args: pairs }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getPairOisAfterV10Token', args: pairs }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'pairSpreadPArray', args: [traders, pairIndices.map(BigInt)] }).catch(absentWhenReverted),
    // A missing price feed or market must not hide positions in others.
    Promise.all(collateralIndices.map((index) => collateralPrice(client, diamond, { index, block: block.number }))),
    Promise.all(
      trades.map(({ index, collateralAmount, leverage, ...trade }) =>
        client
          .readContract({
            ...view,
            functionName: 'getTradeBorrowingFee',
            args: [{ ...trade, trader, index, collateral: collateralAmount, leverage, currentPairPrice: priceOf(trade.pairIndex) }],
          })
          .catch(absentWhenReverted),
      ),
    ),
  ]);
  return new Map(
    trades.map(({ index }, at): [number, Details] => {
      const [rate, acc, sides, paid] = [funding?.[at], borrowing?.[at], oi?.[at], realized?.[at]];
      const pair: Details['pair'] = {
        funding: rate ? { ...rate, lastFundingUpdateTs: BigInt(rate.lastFundingUpdateTs) } : null,
        borrowing: acc ? { accBorrowingFeeP: acc.accBorrowingFeeP, lastBorrowingUpdateTs: BigInt(acc.lastBorrowingUpdateTs) } : null,
        oiToken: sides ? { long: sides.oiLongToken, short: sides.oiShortToken } : null,
        collateralPriceUsd: prices[at] ?? null,
        spreadP: spreads?.[at] ?? null,
      };
      const takenOut = paid ? paid.realizedPnlPartialCloseCollateral + paid.pnlWithdrawnCollateral : null;
      return [index, { fees: fees?.[at] ?? null, borrowingV1: borrowingV1[at] ?? null, takenOut, pair }];
    }),
  );
}

const wide = (params: { readonly [Field in keyof LiquidationParams]: number | bigint }): LiquidationParams => ({
  maxLiqSpreadP: BigInt(params.maxLiqSpreadP),
  startLiqThresholdP: BigInt(params.startLiqThresholdP),
  endLiqThresholdP: BigInt(params.endLiqThresholdP),
  startLeverage: BigInt(params.startLeverage),
  endLeverage: BigInt(params.endLeverage),
});

export async function delegateOf(client: PublicClient, { diamond }: ChainDefinition, trader: Address): Promise<Address | null> {
  const delegate = await client.readContract({ address: diamond, abi: diamondAbi, functionName: 'getTradingDelegate', args: [trader] });
  return BigInt(delegate) === 0n ? null : (delegate.toLowerCase() as Address);
}
