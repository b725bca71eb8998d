import type { AgentCaller } from '../../../core/access/caller.js';
import type { TranslationContext, Leg } from '../../../core/domain/relay/exchange-order.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { failed, isOnlyAgainstOpening, type Failure, type Prepared, type ChildItem } from '../plan/plan-items.js';
import type { BotOrder, SignedAction, RelayedLeg } from '../../../core/ports/stores/relay.js';
import { raiseQuotaAlert } from '../../../core/observability/alerts/raise.js';
import type { QueuedJob } from '../../../core/ports/relayer.js';
import { CLOID_TAKEN, sendWrite, placeOrder, placeUnnamed, type OrderToPlace, type Placement } from '../../../core/trading/place-order.js';
import { isLive } from '../../../core/domain/order.js';
import { askedLevel, keptPrice } from '../plan/find-target.js';
import type { ChildRecord, ExchangeLeg, ExchangeRecord } from '../../../core/ports/stores/exchange.js';
import type { WantedTrigger } from '../../../core/ports/stores/triggers.js';
import { DEFAULT_CLOSING_SLIPPAGE_P } from '../../../core/domain/pricing/execution-price.js';
import { MAX_SLIPPAGE_P, wantedClosingSlippage } from '../../../core/domain/relay/translate-order.js';

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
  /** The order that it replaces, which lives until then. */
  readonly replaces?: { readonly id: bigint; readonly hasSameCloid: boolean } | undefined;
  /** The id of the bot's order that this entry continues; it keeps that id. */
  readonly continues?: bigint | undefined;
  /** It has the cloid of what it replaces, which may live until then. */
  readonly keepsCloid?: boolean | undefined;
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
  options: SendOptions = {},
): Promise<Sent | Failure> {
  try {
    return await place(gateway, venue, caller, action, prepared, options);
  } catch (error) {
    // After a database failure the order may be stored, and would then be sent: it must not be reported as refused.
    if (error instanceof GatewayError && error.code === 'NOT_READY') throw error;
    await raiseQuotaAlert(gateway, venue, caller.trader, error);
    const closes = prepared.legs.filter(({ leg }) => leg.role === 'close');
    const isClosing = closes.length > 0 && closes.length < prepared.legs.length && isOnlyAgainstOpening(error);
    return isClosing ? sendItem(gateway, venue, caller, action, { ...prepared, legs: closes }, options) : failed(error);
  }
}

/**
 * All orders, the bot's record and the relayer's jobs are stored in one transaction, in the order in which the legs must be mined. The
 * opening of the other side is held back until the closes are executed: the oracle may refuse them, and the opening would stand beside them.
 */
async function place(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  prepared: Prepared,
  { jobContext, replaces, continues, keepsCloid = replaces?.hasSameCloid ?? continues !== undefined }: SendOptions,
): Promise<Sent> {
  const { legs, asked } = prepared;
  const held = heldLeg(prepared);
  const owed = owedClosingSlippage(prepared, venue.clock.now());
  const isOrder = legs.some(({ draft }) => draft !== null);
  const record: BotOrder = {
    ...recordOf(venue, caller, action, prepared),
    legs: legs.map(({ leg }) => legRecord(leg)),
    ...((isOrder || continues !== undefined) && { oid: continues }),
    triggers: await askedTriggers(gateway, venue, caller, prepared),
    isContinued: continues !== undefined,
    children: childRecords(venue, caller, action, prepared),
    ...(!keepsCloid && { newCloids: cloidsOfLevels(prepared) }),
  };
  const order: OrderToPlace = {
    relayed: { action, record },
    legs: legs.map(({ leg, draft, write }, at) => ({
      draft,
      write,
      ...(at !== held && { context: jobContext ?? contextOf(prepared, at) }),
      ...owed(leg),
    })),
  };
  const placed = await placeNamed(gateway, venue, caller, order, { cloid: asked.cloid, replaces, keepsCloid });
  const ids = placed.orders.map((stored) => stored?.id ?? null);
  const heldId = held === null ? null : (ids[held] ?? null);
  return {
    ...prepared,
    oid: placed.oid,
    orderIds: ids.flatMap((id) => (id === heldId ? [] : (id ?? []))),
    jobs: placed.jobs,
    held: held === null || heldId === null ? null : { at: held, orderId: heldId },
  };
}

/**
 * A past order keeps its cloid, and ours is found by the exchange record. A live one, or a TP/SL that stands, keeps it against any other,
 * also against the same request sent twice at once, unless it is the one that is replaced.
 */
async function placeNamed(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  order: OrderToPlace,
  { cloid, replaces, keepsCloid }: Pick<SendOptions, 'replaces' | 'keepsCloid'> & { readonly cloid: string | null },
): Promise<Extract<Placement, { kind: 'placed' }>> {
  const unnamed: OrderToPlace = { ...order, freeCloid: keepsCloid ? null : cloid };
  const placed = await placeOrder(gateway, venue, caller, { ...unnamed, clientId: cloid });
  if (placed.kind === 'placed') return placed;
  const { id, order: known } = placed.stored;
  if (!keepsCloid && replaces?.id !== id && isLive(known)) throw new GatewayError('UNSUPPORTED', { reason: CLOID_TAKEN });
  return placeUnnamed(gateway, venue, caller, unnamed);
}

/** Of its TP/SL, and its own where it is nothing else. */
const cloidsOfLevels = ({ asked: { cloid, children = [] }, legs }: Prepared): string[] =>
  [...(legs[0]?.draft === null ? [cloid] : []), ...children.map((child) => child.cloid)].flatMap((name) => name ?? []);

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

/** The stored record of an item as the bot sent it, without the ids that storing assigns. */
export const recordOf = (
  { definition, clock }: Venue,
  { trader, agent }: AgentCaller,
  action: SignedAction,
  { asked, manner }: { readonly asked: ChildItem; readonly manner: ExchangeRecord['manner'] },
): Omit<ExchangeRecord, 'oid' | 'legs'> => ({
  chain: definition.slug,
  trader,
  agent,
  action: action.id,
  item: asked.item,
  cloid: asked.cloid,
  pairIndex: asked.pairIndex,
  manner,
  order: asked.order,
  wire: asked.wire,
  createdAt: clock.now(),
});

export const legRecord = ({ role, intent, sizeBase }: Leg): Omit<ExchangeLeg, 'orderId'> => ({
  role,
  tradeIndex: 'tradeIndex' in intent ? intent.tradeIndex : null,
  sizeBase,
});

/** The TP/SL of an opening as orders of their own; none if the parent opens nothing. */
export function childRecords(
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { asked: { children = [] }, legs }: Prepared,
): Omit<ChildRecord, 'parentOrder'>[] {
  const opening = legs.find(({ leg }) => leg.role === 'open');
  if (opening === undefined) return [];
  const { sizeBase } = opening.leg;
  return children.map((asked) => {
    const { kind, price } = askedLevel(asked.order);
    return { ...recordOf(venue, caller, action, { asked, manner: 'protection' }), sizeBase, trigger: { kind, price } };
  });
}

/** The trigger that each leg sets on an open trade, at the price at which the contract will store it. */
async function askedTriggers(
  { store }: Gateway,
  { definition: { slug }, feed }: Venue,
  { trader }: AgentCaller,
  { legs, asked }: Prepared,
): Promise<(WantedTrigger | null)[]> {
  if (legs.every(({ leg }) => leg.intent.kind !== 'protect')) return legs.map(() => null);
  const level = askedLevel(asked.order);
  const positions = new Map((await store.account.openPositions(slug, trader)).map(({ tradeIndex, position }) => [tradeIndex, position]));
  return legs.map(({ leg: { intent } }) => {
    if (intent.kind !== 'protect') return null;
    const position = positions.get(intent.tradeIndex);
    return { ...level, tradeIndex: intent.tradeIndex, price: position ? keptPrice(feed.config(), position, level) : level.price };
  });
}

/** A protection sets its slippage itself; it is checked once more, because a pending close may have set another. */
const SECOND_LOOK_MS = 15_000;

const wantedBy = ({ asked, manner }: Prepared): bigint =>
  manner === 'protection' ? wantedClosingSlippage(asked.order, MAX_SLIPPAGE_P) : asked.closingSlippageP;

/** The closing slippage of a changed TP/SL; none if the contract's default is enough. */
export function closingSlippageOf({ order }: ChildItem): { readonly closingSlippageP?: bigint } {
  const closingSlippageP = wantedClosingSlippage(order, MAX_SLIPPAGE_P);
  return closingSlippageP > DEFAULT_CLOSING_SLIPPAGE_P ? { closingSlippageP } : {};
}

/** What is stored with a leg before anything is sent, so that a crash cannot leave a stop loss without its closing slippage. */
export function owedClosingSlippage(prepared: Prepared, now: number): (leg: Leg) => Pick<RelayedLeg, 'owed'> {
  const closingSlippageP = wantedBy(prepared);
  if (closingSlippageP <= DEFAULT_CLOSING_SLIPPAGE_P) return () => ({});
  return ({ role, intent }) => {
    if (role === 'open') return { owed: { closingSlippageP, dueAt: now } };
    return intent.kind === 'protect' ? { owed: { closingSlippageP, dueAt: now + SECOND_LOOK_MS } } : {};
  };
}
