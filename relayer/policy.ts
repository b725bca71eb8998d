import type { AbiParameter } from 'viem';
import { decodeAbiParameters, encodeAbiParameters, parseAbiParameters } from 'viem/utils';
import { CALL_NATURES, WRITE_FUNCTIONS, type CallNature } from '../core/chains/diamond-functions.js';
import { GatewayError } from '../core/errors.js';
import type { NoLongerMeant, SigningPolicy } from '../core/ports/relayer.js';
import type { Refusal, RelayJob, SignedAction } from '../core/ports/stores/relay.js';
import type { Address, Hex } from '../core/types.js';
import {
  BLOCKED_EXITS,
  careQuota,
  dayStart,
  exitQuota,
  nextDay,
  type RelayRules,
  givenRules,
  type RuleSettings,
} from '../core/domain/relay/guardrails.js';
import type { UsedQuota } from '../core/observability/alerts/raise.js';
import type { RulesStore } from '../core/ports/stores/rules.js';

const DELEGATED = { selector: WRITE_FUNCTIONS.delegatedTradingAction.selector, inputs: parseAbiParameters('address, bytes') };
const MULTICALL = { selector: WRITE_FUNCTIONS.multicall.selector, inputs: parseAbiParameters('bytes[]') };
const SELECTOR_END = 10;

export interface PolicySettings extends SigningPolicy {
  readonly maxGas: bigint;
  /** Why nothing new is signed with the wallet; null if signing is allowed. */
  readonly hold?: (wallet: Address) => string | null;
  /** The contract changed and is being checked: nothing is signed meanwhile, and nothing is refused. */
  readonly isUncertain?: () => boolean;
  /** Why no position is opened on the chain; null while they are. */
  readonly haltOfOpenings?: () => string | null;
  /** Whether the contract has a function; absent: it has all. */
  readonly serves?: (selector: string) => boolean;
  /** The operator's rules for the trader; absent: everything is allowed. */
  readonly guard?: SigningGuard;
  /** Why the wallet does not pay for a job that does not reduce risk; null while its budget lasts. */
  readonly afford?: (job: RelayJob) => Promise<Refusal | null>;
}

/** Why a job is not begun; null if it may be signed for the first time: it is what its signed action means, and the operator's rules allow it. */
export async function refusalOf(job: RelayJob, action: SignedAction | null, settings: PolicySettings): Promise<Refusal | null> {
  const { guard, hold, afford, isExpired, serves, haltOfOpenings } = settings;
  const held = job.purpose === 'no-op' ? null : (hold?.(job.wallet) ?? null);
  if (held !== null) return { reason: 'paused', note: held };
  const doubt = await doubtOf(job, action, settings);
  // Nothing is wrong with it: it waits for the price.
  if (doubt?.note === NO_LONGER_MEANT['no-price']) throw new GatewayError('NOT_READY', { reason: doubt.note });
  if (doubt !== null || job.purpose === 'no-op' || action === null) return doubt;
  if (job.purpose === 'action' && isExpired?.(action)) return { reason: 'too-late', note: EXPIRED };
  const inner = innerCall(job) ?? '0x';
  const gone = callsOf(inner).some((call) => serves?.(call.slice(0, SELECTOR_END)) === false);
  if (gone) return { reason: 'outdated', note: 'the contracts do not serve it any more' };
  const nature = natureOf(job, naturesOf(inner));
  if (nature === null) return null;
  const halt = nature === 'opens' ? (haltOfOpenings?.() ?? null) : null;
  if (halt !== null) return { reason: 'paused', note: halt };
  return (await guard?.(job, nature)) ?? (nature === 'exits' ? null : ((await afford?.(job)) ?? null));
}

/**
 * Why a job is not what its signed action means; null if it is. Nothing of it is believed because a row says so: the action's signatures are
 * recovered from the stored text, and the call is derived from it again. `outdated` only where nothing else is wrong with it.
 */
export async function doubtOf(
  job: RelayJob,
  action: SignedAction | null,
  { maxGas, reencode, verify }: Pick<PolicySettings, 'maxGas' | 'reencode' | 'verify'>,
): Promise<Refusal | null> {
  if (job.gas > maxGas) return { reason: 'gas-cap', note: `gas ${job.gas} is above the cap of ${maxGas}` };
  if (job.purpose === 'no-op') return job.data === '0x' ? null : broken('a no-op carries data');
  if (action === null || action.id !== job.parent || action.chain !== job.chain) return broken('its signed action is not stored');
  if (action.trader !== job.trader) return broken('its signed action is of another trader');
  const doubt = verify?.(action, job) ?? null;
  if (doubt !== null && doubt.reason !== 'outdated') return doubt;
  const inner = innerCall(job);
  if (inner === null) return broken('it is no delegated call for its trader');
  // None of the listed calls moves collateral to any address but the trader's.
  if (naturesOf(inner).includes(null)) return broken('it calls something that is not on the list');
  const meanings = await reencode(action, job);
  if (typeof meanings === 'string') return { reason: 'outdated', note: NO_LONGER_MEANT[meanings] };
  return meanings.some((meant) => meant.toLowerCase() === inner.toLowerCase()) ? doubt : broken('it is not what the signed action means');
}

/** Whether the wallet pays for the job whatever it has spent: closes, cancels, and what the service does by itself. */
export function isPaidAlways(job: RelayJob): boolean {
  const inner = job.purpose === 'no-op' ? null : innerCall(job);
  if (inner === null) return true;
  const nature = natureOf(job, naturesOf(inner));
  return nature === null || nature === 'exits';
}

/** Whether the job's call opens something; true where it cannot be read. */
export function opensRisk(job: RelayJob): boolean {
  const inner = innerCall(job);
  return inner === null || naturesOf(inner).includes('opens');
}

const naturesOf = (inner: Hex): (CallNature | null)[] =>
  callsOf(inner).map((call) => CALL_NATURES.get(call.slice(0, SELECTOR_END)) ?? null);

/** The same text as for an action that arrives expired. */
const EXPIRED = 'Action already expired';

const NO_LONGER_MEANT: Readonly<Record<NoLongerMeant, string>> = {
  outdated: 'what it changes is not as it was any more',
  'other-referrer': 'it names another referrer than the settings do now',
  'no-price': 'no price to measure an opening with',
};

/** For calls that no trader's action can become: the row was tampered with, or there is a bug. */
const broken = (note: string): Refusal => ({ reason: 'policy', note });

/** Null for recovery jobs of the service itself: nothing blocks them. Setting slippage in a close or removing a TP/SL in a cancel is ignored. */
function natureOf({ purpose, context }: RelayJob, natures: readonly (CallNature | null)[]): JobNature | null {
  if (natures.includes('opens')) return 'opens';
  if (purpose !== 'action') return null;
  if (natures.includes('closes')) return 'exits';
  const isCancel = (context as { readonly kind?: unknown } | null)?.kind === 'cancel';
  return !isCancel && natures.includes('cares') ? 'cares' : 'exits';
}

/** The trader's call; null unless the data is the encoder's own of it: the contract might read another encoding in another way. */
function innerCall({ data, trader }: RelayJob): Hex | null {
  const args = argumentsOf(DELEGATED, data);
  if (args === null || trader === null || args[0].toLowerCase() !== trader) return null;
  const own = `${DELEGATED.selector}${encodeAbiParameters(DELEGATED.inputs, args).slice(2)}`;
  // The tag follows, which the contract ignores.
  return data.toLowerCase().startsWith(own) ? args[1] : null;
}

/** Whose call this is, and the selectors of what it consists of; null if it is no delegated call. */
export function readDelegated(data: Hex): { readonly trader: Address; readonly selectors: readonly string[] } | null {
  const args = argumentsOf(DELEGATED, data);
  if (args === null) return null;
  return { trader: args[0].toLowerCase() as Address, selectors: callsOf(args[1]).map((call) => call.slice(0, SELECTOR_END)) };
}

/** Data that cannot be decoded counts as one call, which is not on any list. */
const callsOf = (inner: Hex): readonly Hex[] => argumentsOf(MULTICALL, inner)?.[0] ?? [inner];

interface KnownCall<Inputs extends readonly AbiParameter[]> {
  readonly selector: string;
  readonly inputs: Inputs;
}

/** Null for another call, and for arguments that cannot be decoded. */
function argumentsOf<const Inputs extends readonly AbiParameter[]>({ selector, inputs }: KnownCall<Inputs>, data: Hex) {
  if (data.slice(0, SELECTOR_END) !== selector) return null;
  try {
    return decodeAbiParameters(inputs, `0x${data.slice(SELECTOR_END)}`);
  } catch {
    return null;
  }
}

/** opens: creates or increases a position · cares: changes TP/SL or margin of an open one · exits: reduces risk at the trader's request. */
export type JobNature = 'opens' | 'cares' | 'exits';

/** Why the operator's rules forbid signing a job; null if they allow it. */
export type SigningGuard = (job: RelayJob, nature: JobNature) => Promise<Refusal | null>;

export interface SigningGuardOptions {
  readonly store: Pick<RulesStore, 'before'>;
  readonly rules: RuleSettings;
  /** Raises the alert about a used quota. */
  readonly onQuota: (trader: Address, reached: UsedQuota) => Promise<void>;
}

/** Checks the operator's rules again before the signature. One lane sends for a trader, so earlier jobs are already counted. */
export function createSigningGuard({ store, rules: settings, onQuota }: SigningGuardOptions): SigningGuard {
  return async ({ trader, chain, id, createdAt }, nature) => {
    if (trader === null) return null;
    const { rules, transactions, holds } = await store.before({
      chain,
      trader,
      id,
      given: givenRules(settings, trader),
      since: dayStart(createdAt),
    });
    const isBlocked = rules.access === 'blocked';
    // Positions that a blocked trader opened with its own wallet are not relayed, not even their closes.
    const refusal = nature === 'opens' || (isBlocked && !holds) ? accessRefusal(rules) : null;
    if (refusal !== null) return refusal;
    const bound = isBlocked ? BLOCKED_EXITS : rules.dailyTransactions === null ? null : QUOTAS[nature](rules.dailyTransactions);
    if (bound === null || transactions < bound) return null;
    const reached = { bound, used: transactions, freesAt: nextDay(createdAt) };
    await onQuota(trader, reached);
    return quotaRefusal(reached);
  };
}

/** Limits by nature, derived from the quota of openings: transactions of every nature count towards each of them. */
const QUOTAS: Readonly<Record<JobNature, (dailyTransactions: number) => number>> = {
  opens: (dailyTransactions) => dailyTransactions,
  cares: careQuota,
  exits: exitQuota,
};

function accessRefusal({ access, reduceOnly }: RelayRules): Refusal | null {
  if (access === 'blocked') return { reason: 'rules', note: 'Trading is halted for this user by the operator' };
  return reduceOnly ? { reason: 'rules', note: 'Only reduce-only orders allowed for this user' } : null;
}

function quotaRefusal({ bound, used, freesAt }: UsedQuota): Refusal {
  const resets = new Date(freesAt).toISOString();
  const note = `Too many cumulative requests sent (${used + 1} > ${bound}) for the daily quota of transactions, which resets at ${resets}`;
  return { reason: 'quota', note };
}
