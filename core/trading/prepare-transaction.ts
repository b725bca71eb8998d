import type { AgentCaller } from '../access/caller.js';
import type { Intent } from '../domain/intent.js';
import type { Collateral } from '../domain/market.js';
import { fromNode } from '../ports/chain.js';
import { type Gateway, type Venue, requireAgreed, requireServed, serves } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import { encodeIntent, functionsOf, wrapFor, appendTag } from './encode-intent.js';
import { knownFacts, openingFacts } from '../caching/opening-reads.js';
import { isUsual, learnGas, learnUsual, withCachedGas } from '../caching/gas-cache.js';
import type { HandedOut } from '../ports/stores/orders.js';
import { namesNoFunction, notTheDelegate, refusalOf, refuseShortage } from './refuse-revert.js';
import type { OpeningFacts, OpeningQuestion, Simulation, SimulationResult } from '../ports/simulation.js';
import { identifyAgain, requireCurrent } from '../indexer/identify.js';
import { requireDelegate } from '../access/agent-status.js';
import { GatewayError } from '../errors.js';

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
  /** The amount taken from the trader's wallet when the transaction is mined; null if none. */
  readonly takes: { readonly collateral: Collateral; readonly amount: bigint } | null;
  /** Facts needed to predict the callback of a market order; null or absent otherwise. */
  readonly opening?: OpeningQuestion | null;
  /** Number of further orders the transaction creates; each has its own tag. */
  readonly others?: number;
}

export interface PreparedWrite {
  readonly transaction: PreparedTransaction;
  readonly handedOut: HandedOut;
  /** The same transaction, with the tag of each further order. */
  readonly others: readonly HandedOut[];
  /** The trader's call without delegation wrapper and tags. */
  readonly inner: Hex;
  /** null where no facts were requested, or this Diamond does not provide them. */
  readonly facts: OpeningFacts | null;
}

const TAG_BYTES = 16;
/** Added to the simulated gas, in percent, because the state changes until the transaction is mined. */
const GAS_MARGIN = 20n;

/**
 * Encodes, tags and simulates a write in one round trip to the node (more only after a refusal); nothing is stored. Throws the error the
 * chain would give, so a returned transaction can be sent as it is.
 */
export async function prepareTransaction(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { intent, takes, opening, others = 0 }: WriteRequest,
): Promise<PreparedWrite> {
  const { trader, sender } = caller;
  const functions = [...functionsOf(intent), ...(sender === trader ? [] : (['delegatedTradingAction'] as const))];
  await requireCurrent(gateway, venue);
  requireServed(venue, functions);
  if (takes !== null) requireAgreed(venue, takes.collateral);
  const inner = encodeIntent(intent, trader);
  const [tag, ...otherTags] = [newTag(gateway), ...Array.from({ length: others }, () => newTag(gateway))] as const;
  const data = [tag, ...otherTags].reduce(appendTag, wrapFor(sender, trader, inner));
  const token = takes === null ? null : addressOf(takes.collateral);
  const validatedAt = venue.clock.now();
  const request = { trader, sender, data, token };
  const [simulated, facts] = await Promise.all([
    caller.mode === 'relayed' ? simulateWithCachedGas(venue, intent, request) : simulate(venue, request),
    opening ? factsOf(venue, caller, opening) : null,
  ]);
  const simulatedAt = venue.clock.now();
  const { revert, delegate } = simulated;
  if (sender !== trader && (delegate !== sender || revert?.name === 'DelegateNotApproved')) throw notTheDelegate(venue, caller, delegate);
  if (takes !== null && simulated.token !== null) refuseShortage(venue, caller, { ...takes, ...simulated.token, inner });
  if (revert !== null && namesNoFunction(revert)) {
    await identifyAgain(gateway, venue);
    requireServed(venue, functions);
  }
  if (revert !== null) throw await refusalOf(gateway, venue, caller, { intent, inner, revert });
  const gas = simulated.gas === null ? null : (simulated.gas * (100n + GAS_MARGIN)) / 100n;
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

/** The transaction of stored calldata. */
export const transactionOf = ({ definition }: Venue, { data, gas }: HandedOut, expiresAt: number): PreparedTransaction => ({
  to: definition.diamond,
  data,
  value: '0',
  chainId: definition.chainId,
  gas: gas?.toString() ?? null,
  expiresAt,
});

const simulate = ({ chain }: Venue, request: Simulation): Promise<SimulationResult> => fromNode(chain.simulate(request));

/** The relayer sends few kinds of calls, so the gas of one is tried for the next; if it is too low, the node estimates. */
const simulateWithCachedGas = (venue: Venue, intent: Intent, request: Simulation): Promise<SimulationResult> =>
  withCachedGas(venue, intent, async (kept) => {
    const { trader } = request;
    const given = kept === null ? {} : { gas: kept, isUsual: isUsual(venue, intent, trader) && serves(venue, 'multicall') };
    const simulated = await simulate(venue, { ...request, ...given });
    if (simulated.gas !== null && simulated.gas !== kept) learnGas(venue, intent, simulated.gas);
    learnUsual(venue, intent, trader, simulated.gas);
    return simulated;
  });

/** Relayed openings use cached market facts; the call itself is always simulated. */
const factsOf = (venue: Venue, { mode, trader }: AgentCaller, opening: OpeningQuestion): Promise<OpeningFacts | null> =>
  fromNode((mode === 'relayed' ? knownFacts : openingFacts)(venue, trader, opening));

const addressOf = ({ address }: Collateral): Address => address;

const newTag = ({ randomBytes }: Gateway): Hex => `0x${Buffer.from(randomBytes(TAG_BYTES)).toString('hex')}`;

/**
 * Runs a write whose simulation also reads the delegate. If the write needs no simulation or is refused before it, the delegate is checked
 * separately: an agent without delegation must get that error, and no information about the trader's orders.
 */
export async function forDelegate<Result extends { readonly transaction: unknown }>(
  venue: Venue,
  caller: AgentCaller,
  work: Promise<Result>,
): Promise<Result> {
  const result = await work.catch(async (error: unknown) => {
    const isFinal = !(error instanceof GatewayError) || error.code === 'AGENT_NOT_DELEGATED' || error.status >= 500;
    if (!isFinal) await requireDelegate(venue, caller);
    throw error;
  });
  if (result.transaction === null) await requireDelegate(venue, caller);
  return result;
}
