import type { AgentCaller } from '../access/caller.js';
import type { Intent } from '../domain/intent.js';
import type { Collateral } from '../domain/market.js';
import { fromNode } from '../ports/from-node.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import { encodeIntent, functionsOf, wrapFor } from './encode-intent.js';
import { knownFacts, openingFacts } from './known-facts.js';
import { isUsual, learnGas, learnUsual, withKnownGas } from './known-gas.js';
import type { HandedOut } from '../ports/stores/orders.js';
import { refuseShortage } from './precheck-funds.js';
import type { OpeningFacts, OpeningQuestion, Rehearsal, Rehearsed } from '../ports/simulation.js';
import { notTheDelegate, refusalOf } from './refuse-revert.js';
import { requireAgreed, requireServed, serves } from './require-served.js';
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
  /** What the oracle's callback will be asked at once; null or absent where it is asked later or never. */
  readonly opening?: OpeningQuestion | null;
  /** Orders that the transaction makes beside the first; each is known by a tag of its own. */
  readonly others?: number;
}

export interface PreparedWrite {
  readonly transaction: PreparedTransaction;
  readonly handedOut: HandedOut;
  /** The same bytes under the tags of the other orders. */
  readonly others: readonly HandedOut[];
  /** The bare call of the trader, without wrapping and tag. */
  readonly inner: Hex;
  /** null where nothing was asked, or this Diamond does not say. */
  readonly facts: OpeningFacts | null;
}

const TAG_BYTES = 16;
/** On top of what the call passed with, in percent: the state moves on until the transaction is mined. */
const GAS_MARGIN = 20n;

/**
 * Encodes, tags and rehearses a write: one round trip to the node, more only for what the first refused, and nothing stored. Throws what
 * the chain would say, so that whatever is returned can be sent as it is.
 */
export async function prepareTransaction(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { intent, takes, opening, others = 0 }: WriteRequest,
): Promise<PreparedWrite> {
  const { trader, sender } = caller;
  requireServed(venue, [...functionsOf(intent), ...(sender === trader ? [] : (['delegatedTradingAction'] as const))]);
  if (takes !== null) requireAgreed(venue, takes.collateral);
  const inner = encodeIntent(intent, trader);
  const [tag, ...otherTags] = [newTag(gateway), ...Array.from({ length: others }, () => newTag(gateway))] as const;
  const data = [tag, ...otherTags].reduce(appendTag, wrapFor(sender, trader, inner));
  const token = takes === null ? null : addressOf(takes.collateral);
  const validatedAt = venue.clock.now();
  const rehearsal = { trader, sender, data, token };
  const [rehearsed, facts] = await Promise.all([
    caller.mode === 'relayed' ? rehearseLearning(venue, intent, rehearsal) : rehearse(venue, rehearsal),
    opening ? factsOf(venue, caller, opening) : null,
  ]);
  const simulatedAt = venue.clock.now();
  const { revert, delegate } = rehearsed;
  if (sender !== trader && (delegate !== sender || revert?.name === 'DelegateNotApproved')) throw notTheDelegate(venue, caller, delegate);
  if (takes !== null && rehearsed.token !== null) refuseShortage(venue, caller, { ...takes, ...rehearsed.token, inner });
  if (revert !== null) throw await refusalOf(gateway, venue, caller, { intent, inner, revert });
  const gas = rehearsed.gas === null ? null : (rehearsed.gas * (100n + GAS_MARGIN)) / 100n;
  const handedOut = { tag, data, gas, steps: { validatedAt, simulatedAt } };
  const ofOthers = otherTags.map((other) => ({ ...handedOut, tag: other }));
  return {
    handedOut,
    others: ofOthers,
    inner,
    facts,
    transaction: transactionOf(venue, handedOut, venue.clock.now() + gateway.orders.preparedMs),
  };
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

const rehearse = ({ chain }: Venue, rehearsal: Rehearsal): Promise<Rehearsed> => fromNode(chain.rehearse(rehearsal));

/** What the relayer sends is of few kinds: what one of them took is enough for the next, or it is estimated after all. */
const rehearseLearning = (venue: Venue, intent: Intent, rehearsal: Rehearsal): Promise<Rehearsed> =>
  withKnownGas(venue, intent, async (kept) => {
    const { trader } = rehearsal;
    const given = kept === null ? {} : { gas: kept, isUsual: isUsual(venue, intent, trader) && serves(venue, 'multicall') };
    const rehearsed = await rehearse(venue, { ...rehearsal, ...given });
    if (rehearsed.gas !== null && rehearsed.gas !== kept) learnGas(venue, intent, rehearsed.gas);
    learnUsual(venue, intent, trader, rehearsed.gas);
    return rehearsed;
  });

/** The call itself is tried each time; what the market says of a bot's opening may be a moment old. */
const factsOf = (venue: Venue, { mode, trader }: AgentCaller, opening: OpeningQuestion): Promise<OpeningFacts | null> =>
  fromNode((mode === 'relayed' ? knownFacts : openingFacts)(venue, trader, opening));

const addressOf = ({ address }: Collateral): Address => address;

const newTag = ({ randomBytes }: Gateway): Hex => `0x${Buffer.from(randomBytes(TAG_BYTES)).toString('hex')}`;
