import type { AgentCaller } from '../access/caller.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../ports.js';
import { flattenPositions } from './flatten-positions.js';
import { relayCancels } from './relay-cancels.js';
import type { ScheduledCancel } from './exchange-store.js';

const LOOK_MS = 500;
const HOLD_MS = 6_500;
/** Longer than one round of cancels takes: whoever has not finished by then is dead. */
const AGAIN_MS = 20_000;
/** What cannot be canceled for so long is not tried any more. */
const GIVE_UP_MS = 600_000;

/**
 * The dead man's switch: whoever does not move its time forward in time has all entries canceled, and where the operator chose so what
 * is open closed. Protections stay: they are what keeps a position from getting worse while nobody looks. Each schedule is taken by one replica at a time, until it is done, also after a restart.
 */
export function runScheduledCancels(gateway: Gateway, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  let isBusy = false;
  const look = async (): Promise<void> => {
    const due = await gateway.store.exchange.takeDue(definition.slug, clock.now(), clock.now() + AGAIN_MS);
    // Not waited for: one trader's slow orders must not hold up another's switch.
    for (const cancel of due)
      void fire(gateway, venue, cancel).catch((error: unknown) => log.warn('relay.schedule-failed', { trader: cancel.trader, error }));
  };
  return clock.every(LOOK_MS, () => {
    if (isBusy || venue.relayer === null) return;
    isBusy = true;
    look()
      .catch((error: unknown) => log.warn('relay.schedule-failed', { error }))
      .finally(() => (isBusy = false));
  });
}

async function fire(gateway: Gateway, venue: Venue, cancel: ScheduledCancel): Promise<void> {
  const { trader, agent, action, dueAt } = cancel;
  const { slug } = venue.definition;
  const [known, signed, live] = await Promise.all([
    gateway.store.access.findAgent(slug, agent),
    gateway.store.relay.action(slug, action),
    gateway.store.account.liveOrders(slug, trader),
  ]);
  const sender = await venue.relayer?.walletFor(trader);
  // A relayer that is switched off fires when it is switched on again, however late that is.
  if (!signed || !known || sender === undefined || venue.relayer?.standing(sender).mode !== 'running') return;
  const caller: AgentCaller = { via: 'agent', trader, agent, sender, mode: 'relayed', scope: known.scope };
  // What was placed after the switch fired is not what it was set for.
  const entries = live.filter(({ order }) => !order.reduceOnly && order.action === 'open' && order.createdAt <= dueAt);
  venue.log.info('relay.schedule-fired', { trader, dueAt, orders: entries.length });
  const items = entries.map(({ id }, item) => ({ item, name: { oid: id }, pairIndex: null }));
  const outcomes = await relayCancels(gateway, venue, caller, signed, { items, holdMs: HOLD_MS, purpose: 'scheduled-cancel' });
  const isCanceled = outcomes.every(({ kind }) => kind === 'done' || kind === 'gone');
  const isFlat = !gateway.facade.flattens || (await flattenPositions(gateway, venue, { caller, signed, cancel, holdMs: HOLD_MS }));
  if ((isCanceled && isFlat) || venue.clock.now() - dueAt > GIVE_UP_MS) await gateway.store.exchange.fired(cancel);
}
