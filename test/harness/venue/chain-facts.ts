import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { operatorOf } from './operator.js';
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
  const operator = operatorOf(chain);
  const { diamond } = chain.definition;
  const facets = await operator.client.readContract({ address: diamond, abi: diamondAbi, functionName: 'facets' });
  const fewer = facets.map(({ facetAddress, functionSelectors }) => ({
    facetAddress,
    functionSelectors: functionSelectors.filter((selector) => !selectors.includes(selector)),
  }));
  await operator.control('sandboxSetFacets', [fewer]);
  try {
    await work();
  } finally {
    await operator.control('sandboxSetFacets', [facets]);
  }
}
