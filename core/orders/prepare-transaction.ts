import type { AgentCaller } from '../access/caller.js';
import type { Intent } from '../domain/intent.js';
import type { Collateral } from '../domain/market.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../ports.js';
import { encodeIntent, functionsOf, wrapFor } from './encode-intent.js';
import { knownGas, learnGas } from './known-gas.js';
import type { HandedOut } from './orders-store.js';
import { refuseShortage } from './precheck-funds.js';
import type { OpeningQuestion, Rehearsal, Rehearsed } from './rehearsal.js';
import { notTheDelegate, refusalOf } from './refuse-revert.js';
import { appendTag } from './tag.js';

/** For the agent to sign and broadcast. */
export interface PreparedTransaction {
  to: Address;
  data: Hex;
  value: '0';
  chainId: number;
  gas: string | null;
  /** Epoch ms. */
  expiresAt: number;
}

export interface WriteRequest {
  readonly intent: Intent;
  /** What leaves the trader's wallet when the transaction is mined; null where nothing does. */
  readonly takes: { readonly collateral: Collateral; readonly amount: bigint } | null;
  readonly opening?: OpeningQuestion;
}

export interface PreparedWrite {
  readonly transaction: PreparedTransaction;
  readonly handedOut: HandedOut;
  /** The bare call of the trader, without wrapping and tag. */
  readonly inner: Hex;
  readonly rehearsed: Rehearsed;
}

const TAG_BYTES = 16;
/** On top of the estimate, in percent: the state moves on until the transaction is mined. */
const GAS_MARGIN = 20n;

/**
 * Encodes, tags and rehearses a write: one round trip to the node, a second only for what the first refused, and nothing stored. Throws
 * what the chain would say, so that whatever is returned can be sent as it is.
 */
export async function prepareTransaction(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { intent, takes, opening }: WriteRequest,
): Promise<PreparedWrite> {
  const { trader, sender } = caller;
  requireServed(venue, [...functionsOf(intent), ...(sender === trader ? [] : ['delegatedTradingAction'])]);
  const inner = encodeIntent(intent, trader);
  const tag = newTag(gateway);
  const data = appendTag(wrapFor(sender, trader, inner), tag);
  const token = takes === null ? null : addressOf(takes.collateral);
  const validatedAt = venue.clock.now();
  const kept = caller.mode === 'relayed' ? knownGas(venue, intent) : null;
  const rehearsed = await rehearse(venue, {
    trader,
    sender,
    data,
    token,
    ...(opening === undefined ? {} : { opening }),
    ...(kept === null ? {} : { gas: kept }),
  });
  const simulatedAt = venue.clock.now();
  const { revert, delegate } = rehearsed;
  if (sender !== trader && (delegate !== sender || revert?.name === 'DelegateNotApproved')) throw notTheDelegate(venue, caller, delegate);
  if (takes !== null && rehearsed.token !== null) refuseShortage(venue, caller, { ...takes, ...rehearsed.token, inner });
  if (revert !== null) throw await refusalOf(gateway, venue, caller, { intent, inner, revert });
  const gas = kept !== null && rehearsed.gas === kept ? kept : gasFor(venue, caller, intent, rehearsed.gas);
  const handedOut = { tag, data, gas, steps: { validatedAt, simulatedAt } };
  return { handedOut, inner, rehearsed, transaction: transactionOf(venue, handedOut, venue.clock.now() + gateway.orders.preparedMs) };
}

/** What the relayer sends may cost what it likes up to its gas, so it is learned with room; who sends himself is told what it takes. */
function gasFor(venue: Venue, { mode }: AgentCaller, intent: Intent, estimate: bigint | null): bigint | null {
  if (estimate === null) return null;
  return mode === 'relayed' ? learnGas(venue, intent, estimate) : (estimate * (100n + GAS_MARGIN)) / 100n;
}

/** The same bytes again, as long as they may be sent. */
export const transactionOf = ({ definition }: Venue, { data, gas }: HandedOut, expiresAt: number): PreparedTransaction => ({
  to: definition.diamond,
  data,
  value: '0',
  chainId: definition.chainId,
  gas: gas?.toString() ?? null,
  expiresAt,
});

/** A facet may be missing on a chain, or be taken away by an upgrade: then the operation is off, not half done. */
function requireServed({ definition, state }: Venue, functions: readonly string[]): void {
  if (state.facts === null) throw new GatewayError('NOT_READY', { reason: 'the node has not been asked what the contracts serve' });
  const missing = functions.find((name) => state.facts?.missing.includes(name));
  if (missing !== undefined)
    throw new GatewayError('UNSUPPORTED', { reason: `The contracts on ${definition.slug} do not serve ${missing}, which this needs.` });
}

async function rehearse({ chain }: Venue, rehearsal: Rehearsal): Promise<Rehearsed> {
  try {
    return await chain.rehearse(rehearsal);
  } catch (error) {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'chain node' }, { cause: error });
  }
}

const addressOf = ({ address }: Collateral): Address => address;

const newTag = ({ randomBytes }: Gateway): Hex => `0x${Buffer.from(randomBytes(TAG_BYTES)).toString('hex')}`;
