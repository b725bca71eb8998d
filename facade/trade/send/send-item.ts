import type { AgentCaller } from '../../../core/access/caller.js';
import type { TranslationContext } from '../../../core/domain/relay/exchange-order.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { childRecords, legRecord, protectionId, recordOf, owedClosingSlippage, owesClosingSlippage } from './item-record.js';
import { failed, isOnlyAgainstOpening, type Failure, type Prepared } from '../plan/plan-items.js';
import type { RelayedLeg, SignedAction } from '../../../core/ports/stores/relay.js';
import { raiseQuotaAlert } from '../../../core/observability/alerts/raise.js';
import type { QueuedItem, QueuedJob } from '../../../core/ports/relayer.js';
import { relayerOf, requestOf, sendWrite } from './send-write.js';
import type { PreparedLeg } from '../../../core/trading/prepare-leg.js';
import { mendDraft, storeLeg } from '../../../core/trading/prepare-order.js';

/** Lets the relayer re-encode the job before signing. */
export interface OrderJobContext {
  readonly kind: 'order';
  readonly item: number;
  readonly leg: number;
  readonly context: TranslationContext;
  readonly isLeftToRest: boolean;
}

export interface Sent extends Prepared {
  readonly oid: bigint;
  /** The ids of the orders given to the relayer. */
  readonly orderIds: readonly bigint[];
  readonly jobs: readonly QueuedJob[];
  /** The opening of a flip, stored and held back: its index among the legs, and its order id. */
  readonly held: { readonly at: number; readonly orderId: bigint } | null;
}

export interface SendOptions {
  /** The job context if the item replaces something. */
  readonly jobContext?: unknown;
  /** The id of the bot's order that this entry continues; it keeps that id. */
  readonly continues?: bigint | undefined;
}

/**
 * Passes an item to the relayer; a refusal by the rules is an outcome, not an error. If the rules refuse the opening of a flip, only its
 * closes are sent.
 */
export async function sendItem(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  prepared: Prepared,
  { jobContext, continues }: SendOptions = {},
): Promise<Sent | Failure> {
  const send = { prepared, jobContext, continues };
  const [only] = prepared.legs;
  const isOneStep =
    prepared.legs.length === 1 && only?.draft && !owesClosingSlippage(prepared) && (prepared.asked.children ?? []).length === 0;
  try {
    return await (isOneStep ? sendAtOnce(venue, caller, action, send, only) : sendTogether(gateway, venue, caller, action, send));
  } catch (error) {
    // After a database failure the order may be stored, and would then be sent: it must not be reported as refused.
    if (error instanceof GatewayError && error.code === 'NOT_READY') throw error;
    await raiseQuotaAlert(gateway, venue, caller.trader, error);
    const closes = prepared.legs.filter(({ leg }) => leg.role === 'close');
    const isClosing = closes.length > 0 && closes.length < prepared.legs.length && isOnlyAgainstOpening(error);
    if (!isClosing) return failed(error);
    return sendItem(
      gateway,
      venue,
      caller,
      action,
      { ...prepared, legs: closes },
      { jobContext, ...(continues !== undefined && { continues }) },
    );
  }
}

interface ToSend {
  readonly prepared: Prepared;
  readonly jobContext: unknown;
  readonly continues: bigint | undefined;
}

/** For a single transaction: our order, the bot's record and the relayer's job are stored in one statement. */
async function sendAtOnce(
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { prepared, jobContext, continues }: ToSend,
  { leg, draft, write }: PreparedLeg,
): Promise<Sent> {
  if (draft === null) throw new TypeError('an order without a draft');
  const relayed = {
    request: requestOf(caller, { action, transaction: write.transaction, context: jobContext ?? contextOf(prepared, 0) }),
    record: { ...recordOf(venue, caller, action, prepared), leg: legRecord(leg), ...(continues === undefined ? {} : { continues }) },
  };
  const named = { clientId: prepared.asked.cloid, isInstead: jobContext !== undefined };
  const { stored, job, handedOver } = await storeLeg(venue, { draft, write }, named, (it) =>
    relayerOf(venue).place({ ...relayed, draft: it }),
  );
  return { ...prepared, oid: continues ?? stored.id, orderIds: [stored.id], jobs: [{ job, handedOver }], held: null };
}

/**
 * For several transactions, or with TP/SL: all orders, the bot's record and the relayer's jobs are stored in one transaction, in the order
 * in which the legs must be mined. The opening of the other side is held back until the closes are executed: the oracle may refuse them,
 * and the opening would stand beside them.
 */
async function sendTogether(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { prepared, jobContext, continues }: ToSend,
): Promise<Sent> {
  const { legs, asked } = prepared;
  const held = heldLeg(prepared);
  const owed = owedClosingSlippage(prepared, venue.clock.now());
  const oid =
    continues ?? (legs.some(({ draft }) => draft !== null) ? undefined : await protectionId(gateway, venue, caller, action, prepared));
  const requests = legs.map(({ leg, draft, write }, at) => ({
    draft: draft && { ...draft, order: { ...draft.order, clientId: at === 0 ? asked.cloid : null } },
    leg: legRecord(leg),
    request:
      at === held ? null : requestOf(caller, { action, transaction: write.transaction, context: jobContext ?? contextOf(prepared, at) }),
    ...owed(leg),
  }));
  const item = {
    record: recordOf(venue, caller, action, prepared),
    children: childRecords(venue, caller, action, prepared),
    isContinued: continues !== undefined,
    ...(oid !== undefined && { oid }),
  };
  const placed = await placeLegs(venue, legs, requests, jobContext !== undefined, (all) =>
    relayerOf(venue).placeItem({ ...item, legs: all }),
  );
  const heldId = held === null ? null : (placed.orderIds[held] ?? null);
  return {
    ...prepared,
    oid: placed.oid,
    orderIds: placed.orderIds.flatMap((id) => (id === heldId ? [] : (id ?? []))),
    jobs: placed.queued,
    held: held === null || heldId === null ? null : { at: held, orderId: heldId },
  };
}

type QueuedLegs = Extract<QueuedItem, { kind: 'placed' }>;

/** A refused leg is tried again, with all others, if its draft can be mended. */
async function placeLegs(
  venue: Venue,
  prepared: readonly PreparedLeg[],
  legs: readonly RelayedLeg[],
  isInstead: boolean,
  place: (legs: readonly RelayedLeg[]) => Promise<QueuedItem>,
  fresh: ReadonlySet<number> = new Set(),
): Promise<QueuedLegs> {
  const placed = await place(legs);
  if (placed.kind === 'placed') return placed;
  const { at, why } = placed;
  const [leg, of] = [legs[at], prepared[at]];
  if (!leg?.draft || !of) throw new TypeError('a leg without an order cannot be refused');
  const mended = await mendDraft(venue, { draft: leg.draft, write: of.write }, why, { isInstead, isFresh: fresh.has(at) });
  const again = legs.map((each, index) => (index === at ? { ...leg, draft: mended } : each));
  return placeLegs(venue, prepared, again, isInstead, place, why.kind === 'short' ? new Set([...fresh, at]) : fresh);
}

/** The opening of a flip, by its index. */
function heldLeg({ legs }: Prepared): number | null {
  const isFlip = legs.some(({ leg }) => leg.role === 'close');
  const at = legs.findIndex(({ leg, draft }) => leg.role === 'open' && draft !== null);
  return isFlip && at !== -1 ? at : null;
}

interface LegToSend {
  readonly at: number;
  readonly orderId: bigint | null;
}

async function sendLeg(
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  prepared: Prepared,
  { at, orderId }: LegToSend,
): Promise<QueuedJob> {
  const write = prepared.legs[at]?.write;
  if (!write) throw new TypeError('an exchange order without that leg');
  return sendWrite(venue, caller, { action, orderId, write, context: contextOf(prepared, at) });
}

const contextOf = ({ asked, context, isLeftToRest }: Prepared, leg: number): OrderJobContext => ({
  kind: 'order',
  item: asked.item,
  leg,
  context,
  isLeftToRest,
});

/** Sends the opening of a flip after its closes are executed. */
export async function sendHeld(venue: Venue, caller: AgentCaller, action: SignedAction, sent: Sent): Promise<Sent> {
  const { held, jobs, orderIds } = sent;
  if (held === null) return sent;
  const job = await sendLeg(venue, caller, action, sent, held);
  return { ...sent, jobs: [...jobs, job], orderIds: [...orderIds, held.orderId], held: null };
}

/** The closes were refused or came too late: nothing is opened. */
export async function dropHeld({ store }: Gateway, { definition, clock }: Venue, { trader }: AgentCaller, sent: Sent): Promise<Sent> {
  const { held, legs } = sent;
  if (held === null) return sent;
  await store.orders.giveUp(definition.slug, trader, held.orderId, clock.now());
  return { ...sent, held: null, legs: legs.filter((_, at) => at !== held.at) };
}
