import { decodeFunctionData, parseAbi, toFunctionSelector } from 'viem/utils';
import type { RelayJob, SignedAction } from '../core/relay/relay-store.js';
import type { Hex } from '../core/ports.js';

/** Everything a signed action can become on the Diamond. Nothing here moves collateral to anybody but the trader. */
const TRADING_CALLS = [
  'openTrade((address,uint32,uint16,uint24,bool,bool,uint8,uint8,uint120,uint64,uint64,uint64,bool,uint160,uint24),uint16,address)',
  'closeTradeMarket(uint32,uint64)',
  'updateOpenOrder(uint32,uint64,uint64,uint64,uint16)',
  'cancelOpenOrder(uint32)',
  'updateTp(uint32,uint64)',
  'updateSl(uint32,uint64)',
  'updateMaxClosingSlippageP(uint32,uint16)',
  'updateLeverage(uint32,uint24)',
  'increasePositionSize(uint32,uint120,uint24,uint64,uint16)',
  'decreasePositionSize(uint32,uint120,uint24,uint64)',
  'cancelOrderAfterTimeout(uint32)',
] as const;

const ALLOWED: ReadonlySet<string> = new Set(TRADING_CALLS.map((signature) => toFunctionSelector(`function ${signature}`)));
const DELEGATED = parseAbi([
  'function delegatedTradingAction(address trader, bytes callData) returns (bytes)',
  'function multicall(bytes[] data) returns (bytes[])',
]);
const SELECTOR_END = 10;

export interface PolicySettings {
  readonly maxGas: bigint;
  /** The inner calls that the stored action means, worked out afresh from it and what its translation stood on. */
  readonly reencode: (action: SignedAction, job: RelayJob) => Promise<readonly Hex[]>;
}

/** The last question before a signature: null when the job may be signed, otherwise why not. It believes nothing that it can work out itself. */
export async function refusalOf(job: RelayJob, action: SignedAction | null, { maxGas, reencode }: PolicySettings): Promise<string | null> {
  if (job.gas > maxGas) return `gas ${job.gas} is above the cap of ${maxGas}`;
  if (job.purpose === 'no-op') return job.data === '0x' ? null : 'a no-op carries data';
  if (action?.chain !== job.chain) return 'its signed action is not stored';
  if (action.trader !== job.trader) return 'its signed action is of another trader';
  const inner = innerCall(job);
  if (inner === null) return 'it is no delegated call for its trader';
  if (!callsOf(inner).every((call) => ALLOWED.has(call.slice(0, SELECTOR_END)))) return 'it calls something that is not on the list';
  const meanings = await reencode(action, job);
  return meanings.some((meant) => meant.toLowerCase() === inner.toLowerCase()) ? null : 'it is not what the signed action means';
}

function innerCall({ data, trader }: RelayJob): Hex | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: DELEGATED, data });
    return functionName === 'delegatedTradingAction' && args[0].toLowerCase() === trader ? args[1] : null;
  } catch {
    return null;
  }
}

function callsOf(inner: Hex): readonly Hex[] {
  try {
    const { functionName, args } = decodeFunctionData({ abi: DELEGATED, data: inner });
    return functionName === 'multicall' ? args[0] : [inner];
  } catch {
    return [inner];
  }
}
