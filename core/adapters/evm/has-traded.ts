import { numberToHex, type PublicClient } from 'viem';
import { WRITE_FUNCTIONS } from '../../chains/diamond-functions.js';
import type { Address } from '../../types.js';

/** Of a wallet that sends orders nearly every transaction is one. */
const NEWEST = 20;
const SELECTOR_END = 10;
/** Any wallet may have chosen a delegate, also one that is given to a new gateway. */
const { setTradingDelegate: _set, removeTradingDelegate: _remove, ...ORDERS } = WRITE_FUNCTIONS;
const TRADING: ReadonlySet<string> = new Set(Object.values(ORDERS).map(({ selector }) => selector));

/**
 * Whether one of the newest transactions of the wallet called a trading function of the Diamond; null if that cannot be found out, as where
 * the node keeps no state of earlier blocks. Each transaction is found by bisecting the count of the wallet's transactions.
 */
export async function hasTraded(client: PublicClient, diamond: Address, wallet: Address): Promise<boolean | null> {
  const countAt = (blockNumber: bigint): Promise<number> => client.getTransactionCount({ address: wallet, blockNumber });

  /** The block with the transaction of this nonce, which is at most `end`. */
  async function blockOf(nonce: number, end: bigint): Promise<bigint> {
    let [low, high] = [0n, end];
    // The transaction before is often close.
    for (let step = 1n; high - step > 0n; step *= 4n) {
      if ((await countAt(high - step)) > nonce) continue;
      low = high - step + 1n;
      break;
    }
    while (low < high) {
      const middle = (low + high) / 2n;
      if ((await countAt(middle)) > nonce) high = middle;
      else low = middle + 1n;
    }
    return high;
  }

  try {
    let block = await client.getBlockNumber();
    const count = await countAt(block);
    for (let nonce = count - 1; nonce >= Math.max(0, count - NEWEST); nonce -= 1) {
      block = await blockOf(nonce, block);
      const found = await client.request({ method: 'eth_getBlockByNumber', params: [numberToHex(block), true] });
      const sent = found?.transactions.filter((each) => typeof each !== 'string' && each.from.toLowerCase() === wallet) ?? [];
      const calls = sent.some(
        (each) =>
          typeof each !== 'string' && each.to?.toLowerCase() === diamond.toLowerCase() && TRADING.has(each.input.slice(0, SELECTOR_END)),
      );
      if (calls) return true;
      if (sent.length === 0) return null;
    }
    return count <= NEWEST ? false : null;
  } catch {
    return null;
  }
}
