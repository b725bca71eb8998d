import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { chainTrader } from '../traders/chain-trader.js';
import { controlCall } from '../diamond/diamond-calls.js';
import { firstChain } from './first-chain.js';
import type { SecondGateway } from './second-gateway.js';
import type { TestVenue } from './own-venue.js';

export interface ReadyBody {
  readonly ready: boolean;
  readonly chains: Record<string, { ready: boolean; reasons: string[]; notes: string[] }>;
}

export const readyOf = async (from: Pick<SecondGateway, 'get'>): Promise<ReadyBody> => (await from.get('/ready')).body as ReadyBody;

/** Takes functions out of the contract of the first chain for as long as the work lasts. */
export async function without(sandbox: TestVenue, selectors: readonly string[], work: () => Promise<void>): Promise<void> {
  const chain = firstChain(sandbox);
  const operator = chainTrader(chain, sandbox.controls.accounts.operator.privateKey);
  const { diamond } = chain.definition;
  const facets = await operator.client.readContract({ address: diamond, abi: diamondAbi, functionName: 'facets' });
  const fewer = facets.map(({ facetAddress, functionSelectors }) => ({
    facetAddress,
    functionSelectors: functionSelectors.filter((selector) => !selectors.includes(selector)),
  }));
  await operator.send(diamond, controlCall('sandboxSetFacets', [fewer]));
  try {
    await work();
  } finally {
    await operator.send(diamond, controlCall('sandboxSetFacets', [facets]));
  }
}
