import { JsonRpcProvider, Wallet, concat } from 'ethers';
import type { ChainControls } from '../../../sandbox/controls.js';

/** A contract that never answers: JUMPDEST, PUSH1 0, JUMP. */
export const LOOP = '0x5b600056';

/** Puts these bytes on the chain as a contract; `funder` pays. */
export async function deployCode(chain: ChainControls, funder: string, runtime: string): Promise<string> {
  const provider = new JsonRpcProvider(chain.rpcUrl, chain.definition.chainId, { staticNetwork: true, polling: true, pollingInterval: 20 });
  try {
    const length = ((runtime.length - 2) / 2).toString(16).padStart(2, '0');
    const data = concat([`0x60${length}80600b6000396000f3`, runtime]);
    const receipt = await (await new Wallet(funder, provider).sendTransaction({ data })).wait();
    if (receipt?.contractAddress == null) throw new Error('nothing was deployed');
    return receipt.contractAddress;
  } finally {
    provider.destroy();
  }
}
