import type { AgentCaller } from '../../../core/access/caller.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { whenDue } from '../../../core/trading/due-work.js';
import type { Cancel } from '../../../core/types.js';
import { flattenPositions } from './flatten-positions.js';
import { relayCancels } from '../send/relay-cancels.js';
import type { ScheduledCancel } from '../../../core/ports/stores/exchange.js';
import { DAY_MS } from '../../../core/ports/stores/gas.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';
import { takesWork } from '../../../core/trading/place-order.js';

const HOLD_MS = 6_500;
/** Longer than one round of cancels takes: a replica that has not finished by then is dead. */
const AGAIN_MS = 20_000;
/** The retry interval while nothing can be sent. */
const SOON_MS = 1_000;
/** After this long without success the schedule is given up and an alert is raised. */
const GIVE_UP_MS = 600_000;
/**
 * After so long without a try here the time begins anew: other replicas may have found in between that nothing could be sent. Replicas that
 * take turns try more often than that.
 */
const LONGEST_GAP_MS = GIVE_UP_MS / 2;
const MOST_REMEMBERED = 10_000;

/** When the tries of a schedule began, and when the last of them ended. */
interface Tries {
  readonly since: number;
  readonly last: number;
}

/**
 * The dead man's switch: if the bot does not postpone its schedule in time, all entries are canceled and, if the operator enabled it,
 * positions are closed. TP/SL stay, because they protect unattended positions. One replica at a time takes each schedule until it is
 * done, also after a restart.
 */
export function runScheduledCancels(gateway: Gateway, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  // Counted from the first possible try: time in which nothing could be sent, or the contract refused everything, does not count.
  const begun = new Map<bigint, Tries>();
  let isBusy = false;
  const look = async (): Promise<void> => {
    const due = await gateway.store.exchange.takeDue(definition.slug, clock.now(), clock.now() + AGAIN_MS);
    // Not awaited: one trader's slow orders must not delay another's schedule.
    for (const cancel of due)
      void fire(gateway, venue, cancel, begun).catch((error: unknown) =>
        log.warn('relay.schedule-failed', { trader: cancel.trader, error }),
      );
  };
  return whenDue(gateway, venue, ['schedules'], () => {
    if (isBusy || venue.relayer === null) return;
    isBusy = true;
    look()
      .catch((error: unknown) => log.warn('relay.schedule-failed', { error }))
      .finally(() => (isBusy = false));
  });
}

async function fire(gateway: Gateway, venue: Venue, cancel: ScheduledCancel, begun: Map<bigint, Tries>): Promise<void> {
  const { clock, log } = venue;
  const { exchange } = gateway.store;
  const ready = await readyFor(gateway, venue, cancel);
  if (ready === null) {
    begun.delete(cancel.action);
    return exchange.putBack(cancel, clock.now() + SOON_MS);
  }
  if (begun.size >= MOST_REMEMBERED) begun.clear();
  const now = clock.now();
  const before = begun.get(cancel.action);
  const since = before !== undefined && now - before.last <= LONGEST_GAP_MS ? before.since : now;
  const isDone = await fireSchedule(gateway, venue, cancel, ready).catch((error: unknown) => {
    log.warn('relay.schedule-failed', { trader: cancel.trader, error });
    return false;
  });
  begun.set(cancel.action, { since, last: clock.now() });
  if (!isDone && venue.feed.config().tradingState === 'paused') return void begun.delete(cancel.action);
  if (!isDone && clock.now() - since <= GIVE_UP_MS) return;
  if (!isDone) await alertGivenUp(gateway, venue, cancel);
  begun.delete(cancel.action);
  await exchange.fired(cancel);
}

interface Ready {
  readonly caller: AgentCaller;
  readonly signed: SignedAction;
}

/** Null while nothing can be sent, because the relayer is switched off, the lane is blocked or the chain is not known yet: retried however late. */
async function readyFor(gateway: Gateway, venue: Venue, { trader, agent, action }: ScheduledCancel): Promise<Ready | null> {
  const { slug } = venue.definition;
  const [known, signed] = await Promise.all([gateway.store.access.findAgent(slug, agent), gateway.store.relay.action(slug, action)]);
  const sender = await venue.relayer?.walletFor(trader);
  if (!signed || !known || sender === undefined || venue.relayer === null || !takesWork(venue.relayer, sender)) return null;
  if (venue.state.facts === null) return null;
  return { caller: { via: 'agent', trader, agent, sender, mode: 'relayed', scope: known.scope }, signed };
}

/** True when nothing is left that the schedule covers. */
async function fireSchedule(gateway: Gateway, venue: Venue, cancel: ScheduledCancel, { caller, signed }: Ready): Promise<boolean> {
  const { trader, dueAt } = cancel;
  const live = await gateway.store.account.liveOrders(cancel.chain, trader);
  // Orders placed after the schedule fired are not covered.
  const entries = live.filter(({ order }) => !order.reduceOnly && order.action === 'open' && order.createdAt <= dueAt);
  venue.log.info('relay.schedule-fired', { trader, dueAt, orders: entries.length });
  const items = entries.map(({ id }, item) => ({ item, name: { oid: id }, pairIndex: null }));
  const outcomes = await relayCancels(gateway, venue, caller, signed, { items, holdMs: HOLD_MS, purpose: 'scheduled-cancel' });
  for (const outcome of outcomes) if (outcome.kind === 'failed') venue.log.warn('relay.schedule-failed', { trader, error: outcome.error });
  const isCanceled = outcomes.every(({ kind }) => kind === 'done' || kind === 'gone');
  const isFlat = !gateway.facade.flattens || (await flattenPositions(gateway, venue, { caller, signed, cancel, holdMs: HOLD_MS }));
  return isCanceled && isFlat;
}

/** The trader relies on the schedule and is away, so only the operator can act. */
async function alertGivenUp({ alerts, facade }: Gateway, { definition, clock }: Venue, { trader, dueAt }: ScheduledCancel): Promise<void> {
  const what = facade.flattens ? 'cancel its entries and close its positions' : 'cancel its entries';
  await alerts.raiseAlert({
    kind: 'schedule-given-up',
    chain: definition.slug,
    subject: trader,
    message: `The dead man's switch of ${trader} on ${definition.name} could not ${what} for ten minutes and is not tried any more.`,
    details: { trader, dueAt },
    expiresAt: clock.now() + DAY_MS,
  });
}
