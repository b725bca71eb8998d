import type { Address } from '../../core/ports.js';
import { createDiamondReader, type RpcRead } from './diamond-reader.js';
import { readBalance } from './token-reader.js';
import { structText, type WireValue } from './wire-format.js';
import type { Token } from './token-reader.js';

/** `TradeContainer[]` of production: what the contract holds for one trader now. */
export async function readTrades(read: RpcRead, diamondAddress: Address, trader: Address, only?: number): Promise<WireValue[]> {
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
  return trades.flatMap((trade, at): WireValue[] =>
    only !== undefined && trade.index !== only
      ? []
      : [
          {
            trade: structText(trade),
            tradeInfo: structText(infos[at] ?? null),
            liquidationParams: structText(liquidation[at] ?? null),
            initialAccFees: { accPairFee: '0', accGroupFee: '0', block: '0' },
            tradeFeesData: structText(fees[at] ?? null),
            uiRealizedPnlData: structText(realized[at] ?? null),
          },
        ],
  );
}

export async function readTraders(read: RpcRead, diamondAddress: Address): Promise<readonly Address[]> {
  const count = Number(await createDiamondReader(read, diamondAddress, 'latest').view('getTradersCount', []));
  return count === 0 ? [] : createDiamondReader(read, diamondAddress, 'latest').view('getTraders', [0, count - 1]);
}

/** True for a long; a trade that is gone keeps its last side in the contract. */
export async function readSide(read: RpcRead, diamondAddress: Address, trader: Address, index: number): Promise<boolean> {
  return (await createDiamondReader(read, diamondAddress, 'latest').view('getTrade', [trader, index])).long;
}

/** `/user-trading-variables/{address}` of production, as far as the contract and the tokens can tell. */
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
