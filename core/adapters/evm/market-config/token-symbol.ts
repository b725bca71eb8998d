import { decodeAbiParameters, encodeFunctionData, parseAbi } from 'viem';
import type { Address } from '../../../types.js';
import type { DiamondViews } from './diamond-views.js';

const SYMBOL_CALL = encodeFunctionData({ abi: parseAbi(['function symbol() view returns (string)']), functionName: 'symbol' });
const SYMBOL = /^[A-Za-z0-9.]{1,32}$/;
/** The protocol uses the coin's symbol for the wrapped native token. */
const ALIASES: Readonly<Record<string, string>> = { WETH: 'ETH' };

/** Null for a token without a standard `symbol()`. */
export async function readSymbol(diamond: DiamondViews, token: Address): Promise<string | null> {
  const answer = await diamond.call(token, SYMBOL_CALL);
  try {
    const [symbol] = decodeAbiParameters([{ type: 'string' }], answer);
    return SYMBOL.test(symbol) ? (ALIASES[symbol] ?? symbol) : null;
  } catch {
    return null;
  }
}
