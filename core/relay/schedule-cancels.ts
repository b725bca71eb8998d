import type { AgentCaller } from '../access/caller.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../ports.js';
import { relayCancels } from './relay-cancels.js';
import type { ScheduledCancel } from './exchange-store.js';

const LOOK_MS = 500;
const HOLD_MS = 6_500;

/**
 * The dead man's switch: whoever does not move its time forward in time has all entries canceled. Protections stay: they are what keeps
 * a position from getting worse while nobody looks. Each schedule is taken once, by one replica, also after a restart.
 */
export function runScheduledCancels(gateway: Gateway, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  let isBusy = false;
  const look = async (): Promise<void> => {
    const due = await gateway.store.exchange.takeDue(definition.slug, clock.now());
    await Promise.all(due.map((cancel) => fire(gateway, venue, cancel)));
  };
  return clock.every(LOOK_MS, () => {
    if (isBusy || venue.relayer === null) return;
    isBusy = true;
    look()
      .catch((error: unknown) => log.warn('relay.schedule-failed', { error }))
      .finally(() => (isBusy = false));
  });
}

async function fire(gateway: Gateway, venue: Venue, { trader, agent, action, dueAt }: ScheduledCancel): Promise<void> {
  const { slug } = venue.definition;
  const [known, signed, live] = await Promise.all([
    gateway.store.access.findAgent(slug, agent),
    gateway.store.relay.action(slug, action),
    gateway.store.account.liveOrders(slug, trader),
  ]);
  const sender = await venue.relayer?.walletFor(trader);
  if (!signed || !known || sender === undefined) return;
  const caller: AgentCaller = { via: 'agent', trader, agent, sender, mode: 'relayed', scope: known.scope };
  const entries = live.filter(({ order }) => !order.reduceOnly && order.action === 'open');
  venue.log.info('relay.schedule-fired', { trader, dueAt, orders: entries.length });
  const items = entries.map(({ id }, item) => ({ item, name: { oid: id }, pairIndex: null }));
  await relayCancels(gateway, venue, caller, signed, { items, holdMs: HOLD_MS, purpose: 'scheduled-cancel' });
}
