import {
  BaseError,
  decodeErrorResult,
  decodeFunctionResult,
  encodeFunctionData,
  erc20Abi,
  isHex,
  parseAbi,
  prepareEncodeFunctionData,
  RpcRequestError,
  size,
  type Abi,
  type PublicClient,
} from 'viem';
import type {
  OpeningQuestion,
  OpeningTerms,
  PairOpenInterest,
  Revert,
  SeenTransaction,
  Simulation,
  SimulationResult,
  UpdateFees,
} from '../../ports/simulation.js';
import type { Address, Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';
import { nextFee } from './fee-multiplier.js';
import type { Try } from './try-together.js';

export interface SimulationOptions {
  readonly client: PublicClient;
  readonly diamond: Address;
  readonly tryCall: Try;
}

/**
 * Simulates a write and reads everything it depends on in one turn of the event loop, hence in one round trip. Throws when the node does
 * not answer; a revert is a result.
 */
export async function simulate({ client, diamond, tryCall }: SimulationOptions, simulation: Simulation): Promise<SimulationResult> {
  const { trader, sender, data, token, gas: given, isUsual = false } = simulation;
  // The call exactly as it will be sent, including gas; when it fails, everything is read to explain why.
  if (given !== undefined && (await tryCall({ from: sender, data, gas: given, isUsual })))
    return { revert: null, gas: given, delegate: sender, token: null };
  const call = { from: sender, to: diamond, data };
  const [revert, gas, delegate, funds] = await Promise.all([
    simulatedRevert(client, call),
    estimate(client, call),
    sender === trader ? null : delegateOf(client, diamond, trader),
    token === null ? null : fundsOf(client, token, trader, diamond),
  ]);
  return { revert, gas: revert === null ? gas : null, delegate, token: funds };
}

interface Call {
  readonly from?: Address;
  readonly to: Address;
  readonly data: Hex;
}

const ask = (client: PublicClient, call: Call): Promise<Hex> => client.request({ method: 'eth_call', params: [call, 'latest'] });

async function simulatedRevert(client: PublicClient, call: Call): Promise<Revert | null> {
  try {
    await ask(client, call);
    return null;
  } catch (error) {
    return revertOrThrow(error);
  }
}

function revertOrThrow(error: unknown): Revert {
  const revert = revertOf(error);
  if (revert === null) throw error;
  return revert;
}

/** The estimate is optional: a node that fails to give one does not block the order. */
async function estimate(client: PublicClient, call: Call): Promise<bigint | null> {
  try {
    return BigInt(await client.request({ method: 'eth_estimateGas', params: [call] }));
  } catch {
    return null;
  }
}

async function delegateOf(client: PublicClient, diamond: Address, trader: Address): Promise<Address | null> {
  const data = encodeFunctionData({ ...DELEGATE, args: [trader] });
  const delegate = decodeFunctionResult({ abi: DELEGATE.abi, data: await ask(client, { to: diamond, data }) });
  return BigInt(delegate) === 0n ? null : (delegate.toLowerCase() as Address);
}

export async function fundsOf(client: PublicClient, token: Address, trader: Address, diamond: Address) {
  const [balance, allowance] = await Promise.all([
    ask(client, { to: token, data: encodeFunctionData({ ...BALANCE, args: [trader] }) }),
    ask(client, { to: token, data: encodeFunctionData({ ...ALLOWANCE, args: [trader, diamond] }) }),
  ]);
  return { balance: BigInt(balance), allowance: BigInt(allowance) };
}

/** A Diamond of another release may lack these views; then the order is checked against the market's figures only. */
export async function openingTerms(
  client: PublicClient,
  diamond: Address,
  trader: Address,
  pairIndex: number,
): Promise<OpeningTerms | null> {
  const data = encodeFunctionData({ ...USER_IMPACT, args: [trader, BigInt(pairIndex)] });
  const answer = await ask(client, { to: diamond, data }).catch(nullWhenReverted);
  if (answer === null) return null;
  const { fixedSpreadP, cumulVolPriceImpactMultiplier } = decodeFunctionResult({ abi: USER_IMPACT.abi, data: answer });
  return { fixedSpreadP: BigInt(fixedSpreadP), cumulVolPriceImpactMultiplier: BigInt(cumulVolPriceImpactMultiplier) };
}

export async function fitsGroupOi(
  client: PublicClient,
  diamond: Address,
  { collateralIndex, pairIndex, long, positionSizeCollateral }: OpeningQuestion,
): Promise<boolean | null> {
  const data = encodeFunctionData({ ...GROUP_OI, args: [collateralIndex, pairIndex, long, positionSizeCollateral] });
  const answer = await ask(client, { to: diamond, data }).catch(nullWhenReverted);
  return answer === null ? null : decodeFunctionResult({ abi: GROUP_OI.abi, data: answer });
}

export async function pairOpenInterest(
  client: PublicClient,
  diamond: Address,
  { collateralIndex, pairIndex }: Pick<OpeningQuestion, 'pairIndex' | 'collateralIndex'>,
): Promise<PairOpenInterest | null> {
  const [tokens, before] = await Promise.all([
    ask(client, { to: diamond, data: encodeFunctionData({ ...OI_TOKEN, args: [[collateralIndex], [pairIndex]] }) }).catch(nullWhenReverted),
    ask(client, { to: diamond, data: encodeFunctionData({ ...OI_BEFORE, args: [collateralIndex, pairIndex] }) }).catch(nullWhenReverted),
  ]);
  if (tokens === null || before === null) return null;
  const [sides] = decodeFunctionResult({ abi: OI_TOKEN.abi, data: tokens });
  const [long, short] = decodeFunctionResult({ abi: OI_BEFORE.abi, data: before });
  return sides ? { oiToken: { long: sides.oiLongToken, short: sides.oiShortToken }, oiBeforeV10: { long, short } } : null;
}

/** The contract exposes a discount only as the discounted part of a given fee. */
const WHOLE_FEE = 1_000n;

export async function updateFees(
  client: PublicClient,
  diamond: Address,
  trader: Address,
  { collateralIndex, pairIndex }: Pick<OpeningQuestion, 'pairIndex' | 'collateralIndex'>,
): Promise<UpdateFees | null> {
  const [params, fee] = await Promise.all([
    ask(client, { to: diamond, data: encodeFunctionData({ ...FEE_PARAMS, args: [collateralIndex, pairIndex] }) }).catch(nullWhenReverted),
    nextFee(client, diamond, trader, WHOLE_FEE).catch(nullWhenReverted),
  ]);
  if (params === null || fee === null) return null;
  const { govFeeP } = decodeFunctionResult({ abi: FEE_PARAMS.abi, data: params });
  return { govFeeP: BigInt(govFeeP), feeMultiplier: fee };
}

function nullWhenReverted(error: unknown): null {
  revertOrThrow(error);
  return null;
}

/** Prepared once, because hashing a selector takes longer than the rest of a call. */
const DELEGATE = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'getTradingDelegate' });
const USER_IMPACT = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'getUserPriceImpact' });
const GROUP_OI = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'withinMaxBorrowingGroupOi' });
const OI_TOKEN = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'getPairOisAfterV10Token' });
const OI_BEFORE = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'getPairOisBeforeV10Collateral' });
const FEE_PARAMS = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'getTradeFeeParams' });
const BALANCE = prepareEncodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf' });
const ALLOWANCE = prepareEncodeFunctionData({ abi: erc20Abi, functionName: 'allowance' });

/** Repeats the call on the state of a block: receipts show that a transaction failed, not why. */
export async function replay(
  client: PublicClient,
  { from, to, input }: Pick<SeenTransaction, 'from' | 'to' | 'input'>,
  blockNumber: bigint,
): Promise<Revert | null> {
  try {
    await client.call({ account: from, to, data: input, blockNumber });
    return null;
  } catch (error) {
    const revert = revertOf(error);
    if (revert === null) throw error;
    return revert;
  }
}

/** Errors of collateral tokens, which the Diamond passes on. `Error(string)` and `Panic(uint256)` are known to viem. */
const TOKEN_ERRORS = parseAbi([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidSender(address sender)',
  'error ERC20InvalidReceiver(address receiver)',
  'error ERC20InvalidApprover(address approver)',
  'error ERC20InvalidSpender(address spender)',
  'error SafeERC20FailedOperation(address token)',
]);

const ERRORS: Abi = [...diamondAbi.filter(({ type }) => type === 'error'), ...TOKEN_ERRORS];

export function decodeRevert(data: Hex): Revert {
  if (size(data) < 4) return { name: null, args: [], data };
  try {
    const { errorName, args = [] } = decodeErrorResult({ abi: ERRORS, data });
    return { name: errorName, args: args.map(readable), data };
  } catch {
    return { name: null, args: [], data };
  }
}

const readable = (value: unknown): string => (typeof value === 'string' ? value : String(value));

const REVERTED = 3;
const FAILURE_MESSAGES = /revert|invalid opcode|out of gas|stack (?:under|over)flow|invalid jump|VM execution error|write protection/i;

/** The contract's revert; null when the node failed. Nodes report reverts in several forms. */
export function revertOf(error: unknown): Revert | null {
  const answer = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
  if (!(answer instanceof RpcRequestError)) return null;
  const data = revertData(answer.data);
  if (data !== null) return decodeRevert(data);
  return answer.code === REVERTED || FAILURE_MESSAGES.test(answer.details) ? { name: null, args: [], data: '0x' } : null;
}

/** `"0x…"`, `"Reverted 0x…"`, or an object around either. */
function revertData(data: unknown): Hex | null {
  if (typeof data === 'object' && data !== null && 'data' in data) return revertData(data.data);
  if (typeof data !== 'string') return null;
  const text = data.replace(/^Reverted /, '');
  return isHex(text) && text.length % 2 === 0 ? text : null;
}
