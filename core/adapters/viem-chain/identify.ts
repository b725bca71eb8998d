import { encodeFunctionData, toFunctionSelector, type PublicClient } from 'viem';
import type { ChainDefinition } from '../../chains.js';
import type { ChainFacts } from '../../ports.js';
import { diamondAbi } from '../diamond-abi.js';

/** What the gateway will ever call on the Diamond; a selector it does not serve turns the operation that needs it off. */
const USED_FUNCTIONS = [
  'setTradingDelegate',
  'removeTradingDelegate',
  'getTradingDelegate',
  'delegatedTradingAction',
  'multicall',
  'openTrade',
  'closeTradeMarket',
  'updateOpenOrder',
  'cancelOpenOrder',
  'updateTp',
  'updateSl',
  'updateMaxClosingSlippageP',
  'updateLeverage',
  'increasePositionSize',
  'decreasePositionSize',
  'cancelOrderAfterTimeout',
  'getTrades',
  'getTradeInfos',
  'getTradesLiquidationParams',
  'getPendingOrders',
  'getCounters',
  'getCollaterals',
  'getTradeFeesDataArray',
  'getTradingActivated',
  'getMarketOrdersTimeoutBlocks',
] as const;

/** Asks the node who it is and what its Diamond serves. */
export async function identify(client: PublicClient, { chainId, diamond, slug }: ChainDefinition): Promise<ChainFacts> {
  const [found, code] = await Promise.all([client.getChainId(), client.getCode({ address: diamond })]);
  if (found !== chainId) throw new Error(`the node serves chain id ${found}, but ${slug} is ${chainId}`);
  if (code === undefined) throw new Error(`there is no contract at the Diamond's address ${diamond}`);
  const served = await Promise.all(USED_FUNCTIONS.map((name) => isServed(client, diamond, name)));
  return { chainId, missing: USED_FUNCTIONS.filter((_, position) => !served[position]) };
}

async function isServed(client: PublicClient, diamond: `0x${string}`, name: (typeof USED_FUNCTIONS)[number]): Promise<boolean> {
  const item = diamondAbi.find((entry) => entry.type === 'function' && entry.name === name);
  if (item?.type !== 'function') throw new Error(`${name} is missing from our own ABI`);
  const data = encodeFunctionData({ abi: diamondAbi, functionName: 'facetAddress', args: [toFunctionSelector(item)] });
  const { data: answer } = await client.call({ to: diamond, data });
  return answer !== undefined && BigInt(answer) !== 0n;
}
