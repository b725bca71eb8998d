import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError } from '../../../core/errors.js';
import { haltAfterLoss } from '../../../core/access/openings-after-loss.js';
import { haltOfOpenings, type Gateway, type Venue } from '../../../core/gateway.js';
import { indexOf, isCounterTrade, isReverted, overtakenBy } from '../../../core/trading/find-order.js';
import { watchOrders, type OrderWatch } from './await-orders.js';
import { changeChild } from './change-child.js';
import { exchangeFacts } from '../plan/exchange-facts.js';
import { askedLevel, findTarget, type OrderName, type Target } from '../plan/find-target.js';
import {
  failed,
  isSizedUp,
  planExact,
  planItems,
  refusalOf,
  unsupported,
  wasTooMuch,
  type ExchangeItem,
  type ItemOutcome,
  type Plan,
  type Prepared,
} from '../plan/plan-items.js';
import { isKnown, uncontested, type CancelJobContext, type CancelOutcome, type ReplaceJobContext } from './cancel-work.js';
import { relayCancels } from './relay-cancels.js';
import { outcomeOf, relayOrders, settle } from './relay-orders.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';
import { foreseeRefusal } from '../../../core/trading/rules-of-opening.js';
import { CLOID_TAKEN } from '../../../core/trading/place-order.js';
import { sendItem } from './send-item.js';
import { withSlot } from '../plan/simulation-slots.js';
import { prepareReplacement } from '../../../core/trading/prepare-leg.js';
import { prepareTransaction } from '../../../core/trading/prepare-transaction.js';
import type { Instead } from '../../../core/trading/prepare-order.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import type { Hex } from '../../../core/types.js';

export type ModifyOutcome =
  | ItemOutcome
  /** There is no such order to change. */
  | { readonly kind: 'gone' }
  /** It can still fill. */
  | Extract<CancelOutcome, { kind: 'executing' }>
  /** The old order is gone, and the new one could not be placed. */
  | { readonly kind: 'lost'; readonly outcome: ItemOutcome };

export interface ModifyRequest {
  readonly name: OrderName;
  readonly item: ExchangeItem;
  readonly holdMs: number;
}

/** Replaces a resting order: in one transaction if both only rest, otherwise one after the other. */
export async function relayModify(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  request: ModifyRequest,
): Promise<ModifyOutcome> {
  const { name } = request;
  const end = venue.clock.now() + request.holdMs;
  const timeLeft = (): number => Math.max(0, end - venue.clock.now());
  const target = await uncontested({ gateway, venue, caller, end }, name, await findTarget(gateway, venue, caller, name));
  if (target === 'contested') return { kind: 'executing', reclaimableAt: null };
  if (target?.pairIndex !== request.item.pairIndex || isEmpty(target)) return { kind: 'gone' };
  // A change has no grouping: the order keeps the one it had.
  const wire = { ...request.item.wire, grouping: target.record?.wire.grouping };
  const item = { ...request.item, wire, ...changedLevels(request.item, target) };
  if (await isNameOfAnother(gateway, venue, caller, item, target)) return unsupported(CLOID_TAKEN);
  const [child] = target.children ?? [];
  if (child !== undefined) return changeChild(gateway, venue, caller, action, { child, item, end });
  const resting = restingOrder(target);
  if (resting !== null && (await isCounterTrade(venue, resting.known))) return unsupported(COUNTER_TRADE);
  const facts = await exchangeFacts(gateway, venue, caller);
  const [plan] = planItems(venue, facts, [item]);
  // If the new order cannot be placed, the old one stays.
  if (!plan || 'outcome' in plan) return plan?.outcome ?? { kind: 'gone' };
  if (plan.translation.kind === 'refused') return refusalOf(plan, plan.translation);
  if (resting !== null && isOneEntry(plan)) {
    const replace = (by: Plan): Promise<Replaced> =>
      replaceInOne(gateway, venue, caller, action, {
        ...{ ...resting, plan: by, askedAt: facts.askedAt, holdMs: timeLeft() },
        hasSameCloid: hasCloidOf(target, item),
      });
    const replaced = await replace(plan);
    return replaced.kind !== 'gone' && replaced.kind !== 'executing' && isSizedUp(plan) && wasTooMuch(replaced)
      ? replace(planExact(plan))
      : replaced;
  }
  // Otherwise the old order would be canceled, and the new one could not be placed.
  const isOpening = plan.translation.legs.some(({ role }) => role === 'open');
  const halt = isOpening ? (haltOfOpenings(venue) ?? (await haltAfterLoss(gateway, venue, caller))) : null;
  if (halt !== null) return { kind: 'failed', error: new GatewayError('NOT_READY', { reason: halt, concerns: 'openings' }) };
  const refusal = await foreseeRefusal(gateway, venue, caller, planExact(plan), resting?.instead.tradeIndex ?? null);
  if (refusal !== null) return { kind: 'guarded', refusal };
  // A level is overwritten in place, so that the position is never without it.
  const isOverwritten = overwrites(plan, target);
  const kept = isOverwritten ? null : await cancelTarget(gateway, venue, caller, action, { ...request, holdMs: timeLeft(), target });
  if (kept !== null) return kept;
  // A canceled order has left its cloid; a canceled TP/SL may count as awaited until its own job is settled.
  const keepsCloid = target.orders.length === 0 && hasCloidOf(target, item);
  const [placed] = await relayOrders(gateway, venue, caller, action, { items: [item], holdMs: timeLeft(), keepsCloid });
  if (!placed) return { kind: 'gone' };
  const isPlaced = placed.kind === 'filled' || placed.kind === 'resting';
  return isPlaced || isOverwritten ? placed : { kind: 'lost', outcome: placed };
}

/** None unless both only are TP/SL of the same kind. */
function changedLevels({ order }: ExchangeItem, { orders, triggers }: Target): Pick<ExchangeItem, 'changes'> {
  const { kind } = askedLevel(order);
  const mayRest = order.style.kind === 'trigger' || order.style.tif === 'Gtc' || order.style.tif === 'Alo';
  const isLevel = orders.length === 0 && triggers.length > 0 && triggers.every((level) => level.kind === kind);
  const isSame = isLevel && order.reduceOnly && mayRest;
  return isSame ? { changes: { kind, trades: new Set(triggers.map(({ tradeIndex }) => tradeIndex)) } } : {};
}

/** null if the target was canceled and can be replaced. */
async function cancelTarget(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { name, item: { item, pairIndex }, holdMs, target }: ModifyRequest & { readonly target: Target },
): Promise<ModifyOutcome | null> {
  // By its number: a cloid could come to mean another order meanwhile.
  const exactly = target.record === null ? name : { oid: target.record.oid };
  const [canceled] = await relayCancels(gateway, venue, caller, action, { items: [{ item, name: exactly, pairIndex }], holdMs });
  if (canceled?.kind === 'failed' || canceled?.kind === 'executing') return canceled;
  const isOurs = canceled?.kind === 'done' && (await isTakenBy(gateway, venue, caller, { action, item, target }));
  return isOurs ? null : { kind: 'gone' };
}

/** The new order may keep the cloid of the replaced one, but not use another order's. */
async function isNameOfAnother(
  { store }: Gateway,
  { definition }: Venue,
  { trader }: AgentCaller,
  item: ExchangeItem,
  target: Target,
): Promise<boolean> {
  const { cloid } = item;
  if (cloid === null || hasCloidOf(target, item)) return false;
  return (await store.exchange.liveCloids(definition.slug, trader, [cloid])).has(cloid);
}

const hasCloidOf = ({ record }: Target, { cloid }: ExchangeItem): boolean => cloid === (record?.cloid ?? null);

/** The id does not refer to anything live any more. */
const isEmpty = ({ orders, triggers, children = [] }: Target): boolean => orders.length + triggers.length + children.length === 0;

/** The single resting order behind the target, with its slot. */
function restingOrder({ orders, triggers }: Target): (Pick<Replacement, 'replaced' | 'instead'> & { readonly known: KnownOrder }) | null {
  // An order that missed its price and rests now is accompanied by the rejected one.
  const [only, ...others] = orders.filter(({ order }) => order.status !== 'rejected' && order.status !== 'expired');
  if (!only || others.length > 0 || triggers.length > 0) return null;
  if (only.order.status !== 'open' || only.orderKey === null) return null;
  const { collateralIndex, collateralAmount } = only.order;
  return { known: only, replaced: only.id, instead: { tradeIndex: indexOf(only.orderKey), collateralIndex, collateralAmount } };
}

function overwrites({ translation }: Plan, { orders, triggers }: Target): boolean {
  if (translation.kind !== 'legs' || orders.length > 0) return false;
  const isOverwritten = ({ tradeIndex, kind }: Target['triggers'][number]): boolean =>
    translation.legs.some(({ intent }) => intent.kind === 'protect' && intent.tradeIndex === tradeIndex && intent[kind] !== null);
  return triggers.every(isOverwritten);
}

const isOneEntry = ({ translation }: Plan): boolean =>
  translation.kind === 'legs' && translation.manner === 'resting' && translation.legs.length === 1;

interface Replacement {
  readonly plan: Plan;
  readonly instead: Instead;
  /** The order in that slot. */
  readonly replaced: bigint;
  readonly hasSameCloid: boolean;
  readonly askedAt: number;
  readonly holdMs: number;
}

type Replaced = ItemOutcome | Extract<ModifyOutcome, { kind: 'gone' | 'executing' }>;

async function replaceInOne(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { plan, instead, replaced, hasSameCloid, askedAt, holdMs }: Replacement,
): Promise<Replaced> {
  const { translation, asked, context } = plan;
  if (translation.kind !== 'legs') return translation;
  const watch = watchOrders(gateway, venue, caller.trader);
  const end = venue.clock.now() + holdMs;
  let mayBeStored = false;
  try {
    const legs = await withSlot(venue, caller.trader, () =>
      Promise.all(translation.legs.map((leg) => prepareReplacement(gateway, venue, caller, leg, { instead, askedAt }))),
    );
    const prepared: Prepared = { ...plan, manner: 'resting', legs };
    const job: ReplaceJobContext = { kind: 'replace', item: asked.item, tradeIndex: instead.tradeIndex, context };
    mayBeStored = true;
    const sent = await sendItem(gateway, venue, caller, action, prepared, { jobContext: job, replaces: { id: replaced, hasSameCloid } });
    if ('outcome' in sent) return sent.outcome;
    await settle(venue, watch, [sent], end);
    const outcome = await outcomeOf(gateway, venue, watch, sent, () =>
      Promise.resolve({ kind: 'rejected', reason: 'SLIPPAGE', cause: null }),
    );
    if (outcome.kind !== 'rejected') return outcome;
    // The transaction is atomic: the old order was filled or canceled first, or it stands.
    const fate = await fateOf(gateway, venue, caller, watch, { id: replaced, tradeIndex: instead.tradeIndex, by: sent.orderIds, end });
    if (fate === 'stands') return unsupported(STANDS);
    return fate === 'gone' ? { kind: 'gone' } : { kind: 'executing', reclaimableAt: null };
  } catch (error) {
    // After a database failure the change may be stored, and would then be sent: it must not be reported as refused.
    if (mayBeStored && isKnown(error) && error.code === 'NOT_READY') throw error;
    return failed(error).outcome;
  } finally {
    watch.stop();
  }
}

/** A new order in its place would lose the terms, and no action that a bot signs can ask for them. */
const COUNTER_TRADE = 'The order is a counter trade, which was placed elsewhere: change it there, or cancel it and place another.';
const STANDS = 'The contracts refused the change, and the order stands as it was.';

interface RefusedChange {
  /** The order that was to be replaced, and its slot. */
  readonly id: bigint;
  readonly tradeIndex: number;
  /** The orders that were to replace it. */
  readonly by: readonly bigint[];
  readonly end: number;
}

/** What has become of an order whose change was refused. `executing`: it can still fill. */
async function fateOf(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  watch: OrderWatch,
  { id, tradeIndex, by, end }: RefusedChange,
): Promise<'stands' | 'executing' | 'gone'> {
  const { definition, clock } = venue;
  const rests = async (): Promise<boolean> =>
    (await gateway.store.orders.find(definition.slug, caller.trader, id))?.order.status === 'open';
  const stands = () => canBeWithdrawn(gateway, venue, caller, tradeIndex);
  // A revert is published once its block is indexed, and what ended the order before was stored with that block or an earlier one, unless
  // the node returned its log later. So only what is read after that decides.
  const isRevertKnown = by.length > 0 && by.every((each) => watch.state(each)?.status === 'rejected');
  if (!(await rests())) return 'gone';
  if (isRevertKnown && (await stands())) return 'stands';
  await watch.over([id], Math.max(0, end - clock.now()));
  if (!(await rests())) return 'gone';
  return (await stands()) ? 'stands' : 'executing';
}

/**
 * Whether the contract has the order and no keeper executes it. No event says that one does, and it refuses changes too: the order rests
 * until the oracle answers, and can be filled then. A failed question proves nothing.
 */
const canBeWithdrawn = (gateway: Gateway, venue: Venue, caller: AgentCaller, tradeIndex: number): Promise<boolean> =>
  prepareTransaction(gateway, venue, caller, { intent: { kind: 'withdraw', tradeIndex }, takes: null }).then(
    () => true,
    (error: unknown) => isReverted(error) && overtakenBy(error) === undefined,
  );

/**
 * Whether this item of this action canceled the target. Concurrent attempts, here or on another replica, all see it gone: only the one
 * whose transaction did it may place a replacement.
 */
async function isTakenBy(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { action, item, target }: { readonly action: SignedAction; readonly item: number; readonly target: Target },
): Promise<boolean> {
  const { store } = gateway;
  const { slug } = venue.definition;
  const { orders, triggers } = target;
  const ends = await Promise.all([
    ...orders.map((order) => endOfOrder(gateway, venue, caller, order)),
    ...triggers.map((level) => removalOf(gateway, venue, caller, level)),
  ]);
  // With several parts the first decides, as each can have been canceled by another transaction.
  const [hash] = ends.flatMap((end) => end ?? []);
  // Nothing on chain: it was canceled in the queue, which only one caller can do.
  if (hash === undefined) return triggers.length === 0;
  const job = await store.relay.jobByHash(slug, hash);
  return job?.parent === action.id && (job.context as CancelJobContext).item === item;
}

/** The transaction that removed the trigger last; null if it ended otherwise. */
async function removalOf(
  { store }: Gateway,
  { definition }: Venue,
  { trader }: AgentCaller,
  { tradeIndex, kind }: Target['triggers'][number],
): Promise<Hex | null> {
  const known = await store.facade.triggers.at(definition.slug, trader, [`trade:${tradeIndex}`]);
  const removed = known.flatMap((trigger) => (trigger.kind === kind && trigger.end?.cause === 'removed' ? [trigger.end] : []));
  return removed.sort((a, b) => b.at - a.at)[0]?.txHash ?? null;
}

/** The transaction that canceled the order; null if it ended otherwise. */
async function endOfOrder({ store }: Gateway, { definition }: Venue, { trader }: AgentCaller, { id }: KnownOrder): Promise<Hex | null> {
  const timeline = await store.orders.timeline(definition.slug, trader, id);
  const ends = (timeline?.events ?? []).filter(
    ({ event, isTakenBack }) => !isTakenBack && (event.kind === 'withdrawn' || event.kind === 'guardGone'),
  );
  return ends.at(-1)?.event.place.txHash ?? null;
}
