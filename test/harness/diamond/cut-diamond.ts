import { JsonRpcProvider, Wallet } from 'ethers';
import {
  concat,
  keccak256,
  numberToHex,
  toEventSelector,
  toFunctionSelector,
  toHex,
  zeroAddress,
  encodeFunctionData,
  parseAbi,
} from 'viem';
import type { Hex } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { Address } from '../../../core/types.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { FACETS } from '../../../sandbox/contracts/artefact.js';
import { operatorOf } from '../venue/operator.js';
import { controlCall, diamondCall } from './diamond-calls.js';

/** Changes of the sandbox's Diamond as governance makes them on a real one: new facets are deployed and cut in, with or without the event. */

export interface Facet {
  readonly facetAddress: Address;
  readonly functionSelectors: readonly Hex[];
}

const CUT_ABI = parseAbi([
  'struct FacetCut { address facetAddress; uint8 action; bytes4[] functionSelectors }',
  'function diamondCut(FacetCut[] diamondCut, address init, bytes data)',
]);
export const CUT_SELECTOR = toFunctionSelector('diamondCut((address,uint8,bytes4[])[],address,bytes)');
const CUT_TOPIC = toEventSelector('DiamondCut((address,uint8,bytes4[])[],address,bytes)');
/** A facet that logs what it is called with as `DiamondCut`, whose fields are the arguments of the function. */
export const LOGGER: Hex = `0x600436038060046000377f${CUT_TOPIC.slice(2)}906000a100`;

export const facetsOf = (chain: ChainControls): Promise<readonly Facet[]> =>
  operatorOf(chain).client.readContract({ address: chain.definition.diamond, abi: diamondAbi, functionName: 'facets' });

/** Puts the code on the chain, of any length. */
async function deploy(chain: ChainControls, runtime: Hex): Promise<Address> {
  const { privateKey } = await chain.faucet.createTrader({ eth: '10', approve: false, delegate: null });
  const provider = new JsonRpcProvider(chain.rpcUrl, chain.definition.chainId, { staticNetwork: true, polling: true, pollingInterval: 20 });
  try {
    const length = numberToHex((runtime.length - 2) / 2, { size: 3 });
    const data = concat([`0x62${length.slice(2)}80600d6000396000f3`, runtime]);
    const receipt = await (await new Wallet(privateKey, provider).sendTransaction({ data })).wait();
    if (receipt?.contractAddress == null) throw new Error('the facet was not deployed');
    return receipt.contractAddress as Address;
  } finally {
    provider.destroy();
  }
}

/** Replaces the table of facets in one transaction; `isLogged`: with a `DiamondCut`. */
export async function setFacets(chain: ChainControls, facets: readonly Facet[], isLogged: boolean): Promise<void> {
  const operator = operatorOf(chain);
  if (!isLogged) return operator.control('sandboxSetFacets', [facets]);
  const others = facets.filter(({ functionSelectors }) => !functionSelectors.includes(CUT_SELECTOR));
  const logger = { facetAddress: await deploy(chain, LOGGER), functionSelectors: [CUT_SELECTOR] };
  await operator.send(loggedCut([...others, logger]));
}

/** Replaces the table, which has the logger, and logs it. */
export function loggedCut(facets: readonly Facet[]): Hex {
  const cut = encodeFunctionData({ abi: CUT_ABI, functionName: 'diamondCut', args: [[], zeroAddress, '0x'] });
  return diamondCall('multicall', [[controlCall('sandboxSetFacets', [facets]), cut]]);
}

export const without = (facets: readonly Facet[], selectors: readonly string[]): Facet[] =>
  facets.map(({ facetAddress, functionSelectors }) => ({
    facetAddress,
    functionSelectors: functionSelectors.filter((selector) => !selectors.includes(selector)),
  }));

/** The topic of the event in a release that added a field to it. */
export const laterTopic = (topic: Hex): Hex => keccak256(toHex(`later ${topic}`));

export function topicOf(name: string): Hex {
  const found = diamondAbi.find((item) => item.type === 'event' && item.name === name);
  if (found?.type !== 'event') throw new Error(`there is no event ${name}`);
  return toEventSelector(found);
}

/** The code of the facets that log these events, with other topics. */
export function laterFacets(names: readonly string[]): { readonly selector: Hex; readonly code: Hex }[] {
  const topics = names.map((name) => topicOf(name).slice(2));
  const changed = FACETS.filter(({ code }) => topics.some((topic) => code.includes(topic)));
  return changed.map(({ code, selectors }) => ({
    selector: selectors[0],
    code: topics.reduce<string>((text, topic) => text.replaceAll(topic, laterTopic(`0x${topic}`).slice(2)), code) as Hex,
  }));
}

/** Facets that log these events under another topic; everything else is as before. */
export async function withOtherTopics(chain: ChainControls, names: readonly string[]): Promise<Facet[]> {
  const current = await facetsOf(chain);
  const replaced = new Map<string, Address>();
  for (const { selector, code } of laterFacets(names)) replaced.set(selector, await deploy(chain, code));
  return current.map((facet) => ({ ...facet, facetAddress: replaced.get(facet.functionSelectors[0] ?? '') ?? facet.facetAddress }));
}
