import type { AgentCaller } from '../access/caller.js';
import type { Leg, TranslationContext } from '../domain/relay/exchange-order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { ExchangeLeg, ExchangeRecord } from './exchange-store.js';
import { oweRooms } from './owe-rooms.js';
import { failed, type Failure, type Prepared } from './plan-items.js';
import type { SignedAction } from './relay-store.js';
import { tellQuota } from './rules-alert.js';
import { sendWrite } from './send-write.js';
import { storeLeg } from './write-leg.js';

/** What the relayer needs to work out again what it is asked to sign. */
export interface OrderJobContext {
  readonly kind: 'order';
  readonly item: number;
  readonly leg: number;
  readonly context: TranslationContext;
  readonly isLeftToRest: boolean;
}

type SentJob = Awaited<ReturnType<typeof sendWrite>>;

export interface Sent extends Prepared {
  readonly oid: bigint;
  /** Of what was handed to the relayer. */
  readonly orderIds: readonly bigint[];
  readonly jobs: readonly SentJob[];
  /** The opening of a flip, stored and kept back: its place among the legs, and its order. */
  readonly held: { readonly at: number; readonly orderId: bigint } | null;
}

/**
 * Leg by leg, in the order in which they have to be mined: our orders first, then the bot's record, then the relayer's queue. What opens
 * the other side is kept back until the closes before it are executed: the oracle may refuse them, and the opening would stand beside them.
 */
export async function sendItem(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  prepared: Prepared,
  jobContext?: unknown,
): Promise<Sent | Failure> {
  const stored: (bigint | null)[] = [];
  try {
    for (const [at, { draft }] of prepared.legs.entries())
      stored.push(
        draft === null
          ? null
          : (await storeLeg(gateway, venue, draft, at === 0 ? prepared.asked.cloid : null, jobContext !== undefined)).id,
      );
  } catch (error) {
    await giveUp(gateway, venue, caller, stored);
    await tellQuota(gateway, venue, caller.trader, error);
    return failed(error);
  }
  const oid = stored.find((id) => id !== null) ?? (await protectionId(gateway, venue, caller, action, prepared));
  const record = recordOf(venue, caller, action, { prepared, oid, stored });
  // What one leg sends is stored in one step with it; of several, none may be sent before the record is there.
  const isAlone = prepared.legs.length === 1;
  if (!isAlone) await gateway.store.exchange.record(record);
  await oweRooms(gateway, venue, caller, action, { prepared, oid, stored });
  const held = heldLeg(prepared, stored);
  const jobs: SentJob[] = [];
  for (const at of prepared.legs.keys())
    if (at !== held?.at)
      jobs.push(
        await sendLeg(venue, caller, action, prepared, { at, orderId: stored[at] ?? null, jobContext, ...(isAlone && { record }) }),
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
  { asked, context, isLeftToRest, legs }: Prepared,
  { at, orderId, jobContext, record }: LegToSend,
): Promise<SentJob> {
  const write = legs[at]?.write;
  if (!write) throw new TypeError('an exchange order without that leg');
  const job: OrderJobContext = { kind: 'order', item: asked.item, leg: at, context, isLeftToRest };
  return sendWrite(venue, caller, { action, orderId, write, context: jobContext ?? job, ...(record && { record }) });
}

/** The second half of a flip, after the first is executed. */
export async function sendHeld(venue: Venue, caller: AgentCaller, action: SignedAction, sent: Sent): Promise<Sent> {
  const { held, jobs, orderIds } = sent;
  if (held === null) return sent;
  const job = await sendLeg(venue, caller, action, sent, held);
  return { ...sent, jobs: [...jobs, job], orderIds: [...orderIds, held.orderId], held: null };
}

/** The closes were refused, or came too late: nothing is opened. */
export async function dropHeld(gateway: Gateway, venue: Venue, caller: AgentCaller, sent: Sent): Promise<Sent> {
  if (sent.held !== null) await giveUp(gateway, venue, caller, [sent.held.orderId]);
  return { ...sent, held: null };
}

/** Half an order is none. */
async function giveUp(
  { store }: Gateway,
  { definition, clock }: Venue,
  { trader }: AgentCaller,
  ids: readonly (bigint | null)[],
): Promise<void> {
  for (const id of ids) if (id !== null) await store.orders.giveUp(definition.slug, trader, id, clock.now());
}

export interface ToRecord {
  readonly prepared: Prepared;
  readonly oid: bigint;
  readonly stored: readonly (bigint | null)[];
}

const recordOf = (
  { definition, clock }: Venue,
  { trader, agent }: AgentCaller,
  action: SignedAction,
  { prepared: { asked, manner, legs }, oid, stored }: ToRecord,
): ExchangeRecord => ({
  chain: definition.slug,
  oid,
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
  legs: legs.map(({ leg }, at) => legRecord(leg, stored[at] ?? null)),
});

const legRecord = ({ role, intent, sizeBase }: Leg, orderId: bigint | null): ExchangeLeg => ({
  role,
  orderId,
  tradeIndex: 'tradeIndex' in intent ? intent.tradeIndex : null,
  sizeBase,
});

/** The number under which the protection is listed. What was set there before, and is set again, is another order. */
async function protectionId(
  { store }: Gateway,
  { definition: { slug }, clock }: Venue,
  { trader }: AgentCaller,
  action: SignedAction,
  { legs, asked }: Prepared,
): Promise<bigint> {
  const [intent] = legs.map(({ leg }) => leg.intent);
  if (intent?.kind !== 'protect') throw new TypeError('an exchange order without a leg');
  const kind = intent.tp === null ? 'sl' : 'tp';
  const protection = { tradeIndex: intent.tradeIndex, kind, price: intent.tp ?? intent.sl ?? 0n } as const;
  const [known] = await store.facade.protections.identify(slug, trader, [protection], clock.now());
  if (!known) throw new TypeError('a protection without a number');
  const former = await store.exchange.find(slug, trader, known.id);
  if (former === null || (former.action === action.id && former.item === asked.item)) return known.id;
  return (await store.facade.protections.renumber(slug, trader, known.id, clock.now())) ?? known.id;
}
