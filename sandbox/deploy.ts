import { encodeFunctionData, type PrivateKeyAccount } from 'viem';
import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Address, Hex } from '../core/types.js';
import { diamondAbi } from '../core/adapters/evm/diamond-abi.js';
import type { RpcAnswer } from './chain/engine.js';
import { DIAMOND_CODE, FACETS, TOKEN_CODE, sandboxControlAbi, tokenAbi } from './contracts/artefact.js';
import { collateralsOf, facetAddress } from './deploy-collaterals.js';
import { configurationCalls } from './deploy-markets.js';
import { SANDBOX_MARKETS, type SandboxMarket } from './markets.js';

/**
 * Deploys the Diamond and its collaterals on a chain, using only admin calls and transactions signed by the operator, so that replaying
 * the recorded requests gives the same hashes.
 */

export type Request = (method: string, params?: readonly unknown[]) => Promise<RpcAnswer>;

export interface DeployOptions {
  readonly request: Request;
  readonly chain: ChainDefinition & { readonly slug: ChainSlug };
  /** Signs the set-up and may call every `sandbox…` function. */
  readonly operator: PrivateKeyAccount;
  /** Further addresses with the same rights, such as the oracle's. */
  readonly operators?: readonly Address[];
  readonly markets?: readonly (SandboxMarket | null)[];
}

export interface DeployedCollateral {
  readonly symbol: string;
  readonly address: Address;
  readonly decimals: number;
  readonly index: number;
}

export interface Deployment {
  readonly diamond: Address;
  /** The active ones. */
  readonly collaterals: readonly DeployedCollateral[];
}

/** Calls of one `multicall`, whose limit is twenty. */
const BATCH = 20;
const GAS_PER_TRANSACTION = 18_000_000;
/** As many as fit into one block of 60 million gas. */
const TRANSACTIONS_PER_BLOCK = 3;
/** Enough for thousands of pending transactions at any fee that the sandbox allows. */
const OPERATOR_WEI = 10n ** 30n;
/** The Diamond's reserve for paying profits, in whole tokens. */
const RESERVE = 1_000_000_000n;

const hex = (value: bigint | number): Hex => `0x${value.toString(16)}`;

export async function ask(request: Request, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const answer = await request(method, params);
  if ('error' in answer)
    throw new Error(`${method}: ${answer.error.message}${typeof answer.error.data === 'string' ? ` ${answer.error.data}` : ''}`);
  return answer.result;
}

export async function deployDiamond(options: DeployOptions): Promise<Deployment> {
  const { request, chain, operator, operators = [], markets = SANDBOX_MARKETS } = options;
  const rows = collateralsOf(chain.slug);
  await placeCode(
    request,
    chain.diamond,
    rows.map(({ address }) => address),
  );
  await ask(request, 'hardhat_setBalance', [operator.address, hex(OPERATOR_WEI)]);
  const permitted = [operator.address, ...operators];
  await sendAll(options, [
    { to: chain.diamond, data: initialisation(permitted) },
    ...rows.flatMap((row) => tokenCalls(row, permitted, chain.diamond).map((data) => ({ to: row.address, data }))),
    ...batches(configurationCalls(chain, markets)).map((data) => ({ to: chain.diamond, data })),
  ]);
  const collaterals = rows.flatMap(({ symbol, address, decimals, isActive }, i) =>
    isActive ? [{ symbol, address, decimals, index: i + 1 }] : [],
  );
  return { diamond: chain.diamond, collaterals };
}

async function placeCode(request: Request, diamond: Address, tokens: readonly Address[]): Promise<void> {
  const codes: [Address, Hex][] = [
    [diamond, DIAMOND_CODE],
    ...FACETS.map(({ code }, i): [Address, Hex] => [facetAddress(i), code]),
    ...tokens.map((address): [Address, Hex] => [address, TOKEN_CODE]),
  ];
  for (const [address, code] of codes) await ask(request, 'hardhat_setCode', [address, code]);
}

function initialisation(operators: readonly Address[]): Hex {
  const facets = FACETS.map(({ selectors }, i) => ({ facetAddress: facetAddress(i), functionSelectors: selectors }));
  return encodeFunctionData({ abi: sandboxControlAbi, functionName: 'sandboxInit', args: [operators, facets] });
}

function tokenCalls(row: { symbol: string; decimals: number; isActive: boolean }, operators: readonly Address[], diamond: Address): Hex[] {
  const init = encodeFunctionData({
    abi: tokenAbi,
    functionName: 'sandboxInit',
    args: [`${row.symbol} of the sandbox`, row.symbol, row.decimals, operators],
  });
  const reserve = encodeFunctionData({
    abi: tokenAbi,
    functionName: 'sandboxMint',
    args: [diamond, RESERVE * 10n ** BigInt(row.decimals)],
  });
  return row.isActive ? [init, reserve] : [init];
}

function batches(calls: readonly Hex[]): Hex[] {
  const starts = Array.from({ length: Math.ceil(calls.length / BATCH) }, (_, i) => i * BATCH);
  return starts.map((start) =>
    encodeFunctionData({ abi: diamondAbi, functionName: 'multicall', args: [calls.slice(start, start + BATCH)] }),
  );
}

async function sendAll({ request, chain, operator }: DeployOptions, calls: readonly { to: Address; data: Hex }[]): Promise<void> {
  const first = Number(await ask(request, 'eth_getTransactionCount', [operator.address, 'latest']));
  const hashes: unknown[] = [];
  for (const [i, { to, data }] of calls.entries()) {
    const signed = await operator.signTransaction({
      type: 'eip1559',
      chainId: chain.chainId,
      nonce: first + i,
      to,
      data,
      gas: BigInt(GAS_PER_TRANSACTION),
      maxFeePerGas: 10n ** 12n,
      maxPriorityFeePerGas: 0n,
    });
    hashes.push(await ask(request, 'eth_sendRawTransaction', [signed]));
    if ((i + 1) % TRANSACTIONS_PER_BLOCK === 0) await mine(request);
  }
  await mine(request);
  for (const hash of hashes) {
    const receipt = await ask(request, 'eth_getTransactionReceipt', [hash]);
    if (!isSuccess(receipt)) throw new Error(`set-up transaction ${String(hash)} failed`);
  }
}

/** One second after the last block, whatever the clock: the same set-up must give the same hashes. */
async function mine(request: Request): Promise<void> {
  const block = await ask(request, 'eth_getBlockByNumber', ['latest', false]);
  const timestamp = typeof block === 'object' && block !== null && 'timestamp' in block ? BigInt(String(block.timestamp)) : 0n;
  await ask(request, 'evm_mine', [hex(timestamp + 1n)]);
}

const isSuccess = (receipt: unknown): boolean =>
  typeof receipt === 'object' && receipt !== null && 'status' in receipt && receipt.status === '0x1';
