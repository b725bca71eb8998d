import { decodeFunctionResult, encodeFunctionData, RpcRequestError, BaseError, type PublicClient } from 'viem';
import type { ChainDefinition } from '../../chains/chains.js';
import { USED_SELECTORS } from '../../chains/diamond-functions.js';
import { ForeignChainError, type ChainCollateral, type ChainFacts } from '../../ports/chain.js';
import type { Address, Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';
import { troubleOf } from './endpoints.js';

/** Reads the chain id, the Diamond's functions and its collaterals in one batch. */
export async function identify(
  client: PublicClient,
  { chainId, diamond, slug }: ChainDefinition,
  referrers: readonly Address[] = [],
): Promise<ChainFacts> {
  const selectors = [...USED_SELECTORS];
  const [listed, found, code, collaterals, ...facets] = await Promise.all([
    Promise.all(referrers.map((referrer) => isListed(client, diamond, referrer))),
    client.getChainId(),
    client.getCode({ address: diamond }),
    answerOf(client, diamond, encodeFunctionData({ abi: diamondAbi, functionName: 'getCollaterals' })),
    ...selectors.map(([, selector]) =>
      answerOf(client, diamond, encodeFunctionData({ abi: diamondAbi, functionName: 'facetAddress', args: [selector] })),
    ),
  ]);
  if (found !== chainId) throw new ForeignChainError(`the node serves chain id ${found}, but ${slug} is ${chainId}`);
  if (code === undefined) throw new ForeignChainError(`there is no contract at the Diamond's address ${diamond}`);
  // A single malformed answer means that the Diamond has no loupe, so none of the answers is valid.
  const hasLoupe = facets.every((answer) => answer !== null && WORD.test(answer));
  return {
    chainId,
    missing: hasLoupe ? selectors.flatMap(([name], at) => (BigInt(facets[at] ?? 0) === 0n ? [name] : [])) : null,
    collaterals: collaterals === null ? null : readCollaterals(collaterals),
    ...(referrers.length > 0 && {
      unlisted: referrers.filter((_, at) => listed[at] === false),
      unchecked: referrers.filter((_, at) => listed[at] === null),
    }),
  };
}

/** Whether the protocol has whitelisted the address as a referrer; null where the Diamond does not expose it. */
async function isListed(client: PublicClient, diamond: Address, referrer: Address): Promise<boolean | null> {
  const asked = { abi: diamondAbi, functionName: 'getReferrerDetails' } as const;
  const data = await answerOf(client, diamond, encodeFunctionData({ ...asked, args: [referrer] }));
  if (data === null) return null;
  try {
    return decodeFunctionResult({ ...asked, data }).active;
  } catch {
    return null;
  }
}

const WORD = /^0x0{24}[0-9a-f]{40}$/i;

/** Null where the contract reverts; throws where the node fails. */
async function answerOf(client: PublicClient, to: Address, data: Hex): Promise<Hex | null> {
  try {
    return (await client.call({ to, data })).data ?? '0x';
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  const answered = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
  return answered instanceof RpcRequestError && troubleOf('eth_call', { code: answered.code, message: answered.details }) === 'question';
}

function readCollaterals(data: Hex): readonly ChainCollateral[] | null {
  try {
    const rows = decodeFunctionResult({ abi: diamondAbi, functionName: 'getCollaterals', data });
    return rows.map(({ collateral, isActive, precision }) => ({
      address: collateral,
      isActive,
      decimals: precision.toString().length - 1,
    }));
  } catch {
    return null;
  }
}
