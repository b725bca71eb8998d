import type { AgentCaller } from '../../../core/access/caller.js';
import type { TranslationContext } from '../../../core/domain/relay/exchange-order.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { Draft, Placed } from '../../../core/ports/stores/orders.js';
import type { ExchangeRecord } from '../../../core/ports/stores/exchange.js';
import { childRecords, legRecord, protectionId, recordOf } from './item-record.js';
import { oweClosingSlippages, owesClosingSlippage } from '../background/owe-closing-slippages.js';
import { failed, isOnlyAgainstOpening, type Failure, type Prepared } from '../plan/plan-items.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';
import { raiseQuotaAlert } from '../../../core/observability/alerts/raise.js';
import type { QueuedJob } from '../../../core/ports/relayer.js';
import { relayerOf, requestOf, sendWrite } from './send-write.js';
import { storeLeg, type PreparedLeg } from '../plan/write-leg.js';

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

/** Passes an item to the relayer; a refusal by the rules is an outcome, not an error. */
export async function sendItem(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  prepared: Prepared,
  { jobContext, continues }: SendOptions = {},
): Promise<Sent | Failure> {
  const [only] = prepared.legs;
  const isOneStep =
    prepared.legs.length === 1 && only?.draft && !owesClosingSlippage(prepared) && (prepared.asked.children ?? []).length === 0;
  const send = { prepared, jobContext, continues };
  return isOneStep ? sendAtOnce(gateway, venue, caller, action, send, only) : sendLegByLeg(gateway, venue, caller, action, send);
}

interface ToSend {
  readonly prepared: Prepared;
  readonly jobContext: unknown;
  readonly continues: bigint | undefined;
}

/** For a single transaction: our order, the bot's record and the relayer's job are stored in one step. */
async function sendAtOnce(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { prepared, jobContext, continues }: ToSend,
  { leg, draft, write }: PreparedLeg,
): Promise<Sent | Failure> {
  if (draft === null) throw new TypeError('an order without a draft');
  const relayed = {
    request: requestOf(caller, { action, transaction: write.transaction, context: jobContext ?? contextOf(prepared, 0) }),
    record: { ...recordOf(venue, caller, action, prepared), leg: legRecord(leg), ...(continues === undefined ? {} : { continues }) },
  };
  const named = { clientId: prepared.asked.cloid, isInstead: jobContext !== undefined };
  try {
    const { stored, job, handedOver } = await storeLeg(venue, { draft, write }, named, (it) =>
      relayerOf(venue).place({ ...relayed, draft: it }),
    );
    return { ...prepared, oid: continues ?? stored.id, orderIds: [stored.id], jobs: [{ job, handedOver }], held: null };
  } catch (error) {
    // After a database failure the order may be stored, and would then be sent: it must not be reported as refused.
    if (error instanceof GatewayError && error.code === 'NOT_READY') throw error;
    await raiseQuotaAlert(gateway, venue, caller.trader, error);
    return failed(error);
  }
}

/**
 * In the order in which the legs must be mined: first our orders, then the bot's record, then the relayer's queue. The opening of the
 * other side is held back until the closes are executed: the oracle may refuse them, and the opening would stand beside them. If the
 * rules refuse the opening, only the closes are sent.
 */
async function sendLegByLeg(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  send: ToSend,
): Promise<Sent | Failure> {
  const { prepared, jobContext, continues } = send;
  const stored: (bigint | null)[] = [];
  const place = (draft: Draft): Promise<Placed> => gateway.store.orders.place(draft);
  const isInstead = jobContext !== undefined;
  try {
    for (const [at, { draft, write }] of prepared.legs.entries()) {
      const clientId = at === 0 ? prepared.asked.cloid : null;
      stored.push(draft === null ? null : (await storeLeg(venue, { draft, write }, { clientId, isInstead }, place)).stored.id);
    }
  } catch (error) {
    const closes = prepared.legs.filter(({ leg }) => leg.role === 'close');
    const isClosing = closes.length > 0 && closes.length === stored.length && isOnlyAgainstOpening(error);
    if (!isClosing) await giveUp(gateway, venue, caller, stored);
    await raiseQuotaAlert(gateway, venue, caller.trader, error);
    if (!isClosing) return failed(error);
    return sendStored(gateway, venue, caller, action, { prepared: { ...prepared, legs: closes }, jobContext, continues, stored });
  }
  return sendStored(gateway, venue, caller, action, { ...send, stored });
}

async function sendStored(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { prepared, jobContext, continues, stored }: ToSend & { readonly stored: readonly (bigint | null)[] },
): Promise<Sent> {
  const oid = continues ?? stored.find((id) => id !== null) ?? (await protectionId(gateway, venue, caller, action, prepared));
  const legs = prepared.legs.map(({ leg }, at) => ({ ...legRecord(leg), orderId: stored[at] ?? null }));
  const record = { ...recordOf(venue, caller, action, prepared), oid, legs };
  // A single leg is stored together with its record; with several, none may be sent before the record is stored.
  const isSingle = prepared.legs.length === 1 && continues === undefined;
  if (continues !== undefined) await gateway.store.exchange.extend(record);
  else if (!isSingle) await gateway.store.exchange.record(record);
  // Stored before anything is sent, like the closing slippages: a child must be found by its cloid as soon as its parent can open.
  await gateway.store.exchange.recordChildren(childRecords(venue, caller, action, prepared, stored));
  await oweClosingSlippages(gateway, venue, caller, action, { prepared, oid, stored });
  const held = heldLeg(prepared, stored);
  const jobs: QueuedJob[] = [];
  for (const at of prepared.legs.keys())
    if (at !== held?.at)
      jobs.push(
        await sendLeg(venue, caller, action, prepared, { at, orderId: stored[at] ?? null, jobContext, ...(isSingle && { record }) }),
      );
  return { ...prepared, oid, orderIds: stored.flatMap((id) => (id === held?.orderId ? [] : (id ?? []))), jobs, held };
}

function heldLeg({ legs }: Prepared, stored: readonly (bigint | null)[]): Sent['held'] {
  const isFlip = legs.some(({ leg }) => leg.role === 'close');
  const at = legs.findIndex(({ leg }) => leg.role === 'open');
  const orderId = stored[at];
  return isFlip && orderId !== null && orderId !== undefined ? { at, orderId } : null;
}

interface LegToSend {
  readonly at: number;
  readonly orderId: bigint | null;
  readonly jobContext?: unknown;
  readonly record?: ExchangeRecord;
}

async function sendLeg(
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  prepared: Prepared,
  { at, orderId, jobContext, record }: LegToSend,
): Promise<QueuedJob> {
  const write = prepared.legs[at]?.write;
  if (!write) throw new TypeError('an exchange order without that leg');
  return sendWrite(venue, caller, { action, orderId, write, context: jobContext ?? contextOf(prepared, at), ...(record && { record }) });
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
export async function dropHeld(gateway: Gateway, venue: Venue, caller: AgentCaller, sent: Sent): Promise<Sent> {
  const { held, legs } = sent;
  if (held === null) return sent;
  await giveUp(gateway, venue, caller, [held.orderId]);
  return { ...sent, held: null, legs: legs.filter((_, at) => at !== held.at) };
}

/** Cancels the stored legs of an order that could not be stored completely. */
async function giveUp(
  { store }: Gateway,
  { definition, clock }: Venue,
  { trader }: AgentCaller,
  ids: readonly (bigint | null)[],
): Promise<void> {
  for (const id of ids) if (id !== null) await store.orders.giveUp(definition.slug, trader, id, clock.now());
}
