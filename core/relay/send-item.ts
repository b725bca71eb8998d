import type { AgentCaller } from '../access/caller.js';
import type { Leg, TranslationContext } from '../domain/relay/exchange-order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { ExchangeLeg } from './exchange-store.js';
import { failed, type Failure, type Prepared } from './plan-items.js';
import type { RelayJob, SignedAction } from './relay-store.js';
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

export interface Sent extends Prepared {
  readonly oid: bigint;
  readonly orderIds: readonly bigint[];
  readonly jobs: readonly { readonly job: RelayJob; readonly handedOver: Promise<RelayJob> }[];
}

/** Leg by leg, in the order in which they have to be mined: our orders first, then the bot's record, then the relayer's queue. */
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
    return failed(error);
  }
  const oid = stored.find((id) => id !== null) ?? (await protectionId(gateway, venue, caller, prepared));
  await record(gateway, venue, caller, action, { prepared, oid, stored });
  const jobs = [];
  const { asked, context, isLeftToRest, legs } = prepared;
  for (const [at, { write }] of legs.entries()) {
    const job: OrderJobContext = { kind: 'order', item: asked.item, leg: at, context, isLeftToRest };
    jobs.push(await sendWrite(venue, caller, { action, orderId: stored[at] ?? null, write, context: jobContext ?? job }));
  }
  return { ...prepared, oid, orderIds: stored.flatMap((id) => id ?? []), jobs };
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

interface ToRecord {
  readonly prepared: Prepared;
  readonly oid: bigint;
  readonly stored: readonly (bigint | null)[];
}

const record = (
  { store }: Gateway,
  { definition, clock }: Venue,
  { trader, agent }: AgentCaller,
  action: SignedAction,
  { prepared: { asked, manner, legs }, oid, stored }: ToRecord,
): Promise<void> =>
  store.exchange.record({
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

/** The number under which the protection is listed. */
async function protectionId({ store }: Gateway, venue: Venue, { trader }: AgentCaller, { legs }: Prepared): Promise<bigint> {
  const [intent] = legs.map(({ leg }) => leg.intent);
  if (intent?.kind !== 'protect') throw new TypeError('an exchange order without a leg');
  const kind = intent.tp === null ? 'sl' : 'tp';
  const protection = { tradeIndex: intent.tradeIndex, kind, price: intent.tp ?? intent.sl ?? 0n } as const;
  const [known] = await store.facade.protections.identify(venue.definition.slug, trader, [protection], venue.clock.now());
  if (!known) throw new TypeError('a protection without a number');
  return known.id;
}
