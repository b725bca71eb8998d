import type { AbiParameter } from 'viem';
import { decodeAbiParameters, parseAbiParameters, toFunctionSelector } from 'viem/utils';
import type { Refusal, RelayJob, SignedAction } from '../core/ports/stores/relay.js';
import type { Address, Hex } from '../core/types.js';
import type { JobNature, SigningGuard } from './signing-guard.js';

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

const selectorOf = (signature: string): string => toFunctionSelector(`function ${signature}`);
const ALLOWED: ReadonlySet<string> = new Set(TRADING_CALLS.map(selectorOf));
const named = (...names: readonly string[]): ReadonlySet<string> =>
  new Set(TRADING_CALLS.filter((signature) => names.includes(signature.split('(', 1)[0] ?? '')).map(selectorOf));
const OPENS = named('openTrade', 'increasePositionSize');
const CLOSES = named('closeTradeMarket', 'decreasePositionSize');
const CARES = named('updateOpenOrder', 'updateTp', 'updateSl', 'updateMaxClosingSlippageP', 'updateLeverage');
const DELEGATED = { selector: selectorOf('delegatedTradingAction(address,bytes)'), inputs: parseAbiParameters('address, bytes') };
const MULTICALL = { selector: selectorOf('multicall(bytes[])'), inputs: parseAbiParameters('bytes[]') };
const SELECTOR_END = 10;

export interface PolicySettings {
  readonly maxGas: bigint;
  /** Why the stored action is no proof of what its trader wants; null when it is. Absent: it is believed. */
  readonly verify?: (action: SignedAction, job: RelayJob) => string | null;
  /** Whether the time is over that the client gave an action. Absent: none has an end. */
  readonly isExpired?: (action: SignedAction) => boolean;
  /** The inner calls that the stored action means, worked out afresh from it and what its translation stood on. */
  readonly reencode: (action: SignedAction, job: RelayJob) => Promise<readonly Hex[]>;
  /** Why nothing new is signed with the wallet; null while it is. */
  readonly hold?: (wallet: Address) => string | null;
  /** What the operator allows the trader; without it everybody may do everything. */
  readonly guard?: SigningGuard;
  /** Why the wallet does not pay for what takes no risk away; null while its budget lasts. */
  readonly afford?: (job: RelayJob) => Promise<Refusal | null>;
}

/** The last question before a signature: null when the job may be signed, otherwise why not. It believes nothing that it can work out itself. */
export async function refusalOf(job: RelayJob, action: SignedAction | null, settings: PolicySettings): Promise<Refusal | null> {
  const { maxGas, reencode, guard, hold, afford, verify, isExpired } = settings;
  if (job.gas > maxGas) return { reason: 'gas-cap', note: `gas ${job.gas} is above the cap of ${maxGas}` };
  if (job.purpose === 'no-op') return job.data === '0x' ? null : broken('a no-op carries data');
  const held = hold?.(job.wallet) ?? null;
  if (held !== null) return { reason: 'paused', note: held };
  if (action?.chain !== job.chain) return broken('its signed action is not stored');
  if (action.trader !== job.trader) return broken('its signed action is of another trader');
  const doubt = verify?.(action, job) ?? null;
  if (doubt !== null) return broken(doubt);
  if (job.purpose === 'action' && isExpired?.(action)) return { reason: 'too-late', note: EXPIRED };
  const inner = innerCall(job);
  if (inner === null) return broken('it is no delegated call for its trader');
  const selectors = callsOf(inner).map((call) => call.slice(0, SELECTOR_END));
  if (!selectors.every((selector) => ALLOWED.has(selector))) return broken('it calls something that is not on the list');
  const meanings = await reencode(action, job);
  if (!meanings.some((meant) => meant.toLowerCase() === inner.toLowerCase())) return broken('it is not what the signed action means');
  const nature = natureOf(job, selectors);
  if (nature === null) return null;
  return (await guard?.(job, nature)) ?? (nature === 'exits' ? null : ((await afford?.(job)) ?? null));
}

/** In the words in which an action is refused that comes too late. */
const EXPIRED = 'Action already expired';

/** What no action of a trader can mean: somebody has tampered, or we have a mistake. */
const broken = (note: string): Refusal => ({ reason: 'policy', note });

/** Null for what the service takes back by itself: nothing holds that up. A close sets its slippage beside, a cancel may take a level away: neither cares. */
function natureOf({ purpose, context }: RelayJob, selectors: readonly string[]): JobNature | null {
  if (selectors.some((selector) => OPENS.has(selector))) return 'opens';
  if (purpose !== 'action') return null;
  if (selectors.some((selector) => CLOSES.has(selector))) return 'exits';
  const isCancel = (context as { readonly kind?: unknown } | null)?.kind === 'cancel';
  return !isCancel && selectors.some((selector) => CARES.has(selector)) ? 'cares' : 'exits';
}

function innerCall({ data, trader }: RelayJob): Hex | null {
  const args = argumentsOf(DELEGATED, data);
  return args !== null && args[0].toLowerCase() === trader ? args[1] : null;
}

/** What cannot be taken apart is one call, which is on no list. */
const callsOf = (inner: Hex): readonly Hex[] => argumentsOf(MULTICALL, inner)?.[0] ?? [inner];

interface KnownCall<Inputs extends readonly AbiParameter[]> {
  readonly selector: string;
  readonly inputs: Inputs;
}

/** Null for another call, and for one whose arguments cannot be read. */
function argumentsOf<const Inputs extends readonly AbiParameter[]>({ selector, inputs }: KnownCall<Inputs>, data: Hex) {
  if (data.slice(0, SELECTOR_END) !== selector) return null;
  try {
    return decodeAbiParameters(inputs, `0x${data.slice(SELECTOR_END)}`);
  } catch {
    return null;
  }
}
