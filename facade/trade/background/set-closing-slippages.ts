import type { AgentCaller } from '../../../core/access/caller.js';
import { isExpired } from '../../../core/domain/agent.js';
import { currentClosingSlippage } from '../../../core/domain/relay/translate-order.js';
import { GatewayError } from '../../../core/errors.js';
import { onVenue, type Gateway, type Venue } from '../../../core/gateway.js';
import type { Cancel } from '../../../core/types.js';
import { whenDue } from '../../../core/trading/due-work.js';
import { prepareTransaction } from '../../../core/trading/prepare-transaction.js';
import { findTarget, isContested, isOfTrade } from '../plan/find-target.js';
import type { OwedClosingSlippage } from '../../../core/ports/stores/facade.js';
import { sendWrite } from '../../../core/trading/place-order.js';

/** Nothing is lost when the replica that took it dies: it is due again after this. */
const TAKEN_MS = 2_000;
/** Longer than a transaction usually takes: what is not mined by then is sent again. */
const AGAIN_MS = 15_000;
/** After this many tries a slippage that the trader keeps resetting is left as it is. */
const MOST_TRIES = 3;

/** Lets the relayer re-encode the job before signing: whose levels, and the trade that has them. */
export interface ClosingSlippageJobContext {
  readonly kind: 'closing-slippage';
  readonly item: number;
  readonly oid: bigint;
  readonly tradeIndex: number;
}

/**
 * Sets the closing slippage that the TP/SL of an opened position need for their own limits: in a gap, a stop loss with the contract's
 * default of one percent would not be executed. Checked as soon as an order is filled; one replica at a time takes each, also after a restart.
 */
export function setClosingSlippages(gateway: Gateway, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  let isBusy = false;
  let isAgain = false;
  const look = async (): Promise<void> => {
    const due = await gateway.store.closingSlippages.takeDue(definition.slug, clock.now(), clock.now() + TAKEN_MS);
    for (const owed of due)
      await give(gateway, venue, owed).catch((error: unknown) => log.warn('relay.closing-slippage-not-sent', { order: owed.oid, error }));
  };
  const wake = (): void => {
    isAgain = isBusy;
    if (isBusy || venue.relayer === null) return;
    isBusy = true;
    look()
      .catch((error: unknown) => log.warn('relay.closing-slippages-failed', { error }))
      .finally(() => {
        isBusy = false;
        if (isAgain) wake();
      });
  };
  const cancels = [
    whenDue(gateway, venue, ['closingSlippages'], wake),
    onVenue(gateway, venue, 'journal', ({ entries }) => {
      if (entries.some(({ fact }) => fact.kind === 'fill' && fact.executed.action === 'open')) wake();
    }),
  ];
  return () => cancels.forEach((cancel) => cancel());
}

async function give(gateway: Gateway, venue: Venue, owed: OwedClosingSlippage): Promise<void> {
  const { chain, id, trader, closingSlippageP, tries } = owed;
  const { store } = gateway;
  const [tradeIndex, positions, live] = await Promise.all([
    tradeOf(gateway, owed),
    store.account.openPositions(chain, trader),
    store.account.liveOrders(chain, trader),
  ]);
  const position = positions.find((open) => open.tradeIndex === tradeIndex)?.position;
  const isGuarded = position !== undefined && (position.tp > 0n || position.sl > 0n);
  if (tradeIndex === null || !isGuarded || currentClosingSlippage(position) >= closingSlippageP || tries >= MOST_TRIES)
    return store.closingSlippages.settle(chain, id);
  const hold = await levelOf(gateway, venue, owed, tradeIndex);
  if (hold === 'unknown') return;
  if (hold === 'another') return store.closingSlippages.settle(chain, id);
  // The bound of a pending close was computed with the trade's current slippage, so the close comes first.
  if (live.some(({ order }) => order.tradeIndex === tradeIndex && order.status !== 'open')) return;
  const [caller, signed] = await Promise.all([callerOf(gateway, venue, owed), store.relay.action(chain, owed.action)]);
  if (caller === null || signed === null) return store.closingSlippages.settle(chain, id);
  await store.closingSlippages.tried(chain, id, venue.clock.now() + AGAIN_MS);
  const intent = { kind: 'protect', tradeIndex, tp: null, sl: null, slippageP: closingSlippageP } as const;
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
  const context: ClosingSlippageJobContext = { kind: 'closing-slippage', item: owed.item, oid: owed.oid, tradeIndex };
  venue.log.info('relay.sending-closing-slippage', { order: owed.oid, trader, tradeIndex });
  await sendWrite(venue, caller, { action: signed, orderId: null, write, context });
}

/**
 * Whose level the trade has: a change of a TP/SL may have failed, or a later order may have set the level again; what has it instead is owed
 * its own. Unknown while the change or the later order is under way.
 */
async function levelOf(
  gateway: Gateway,
  venue: Venue,
  { chain, trader, oid }: OwedClosingSlippage,
  tradeIndex: number,
): Promise<'own' | 'another' | 'unknown'> {
  const { exchange, facade } = gateway.store;
  const record = await exchange.find(chain, trader, oid);
  if (record === null || !isOfTrade(record, tradeIndex)) return 'own';
  // Read before the target: a change that is settled in between has its trigger then.
  const isUnderWay = (await facade.triggers.ofOwners(chain, trader, [oid])).some(({ phase }) => phase === 'underWay');
  const mayComeBack = await isContested(gateway, venue, { trader }, oid);
  const target = await findTarget(gateway, venue, { trader }, { oid });
  if (target?.triggers.some((trigger) => trigger.tradeIndex === tradeIndex) === true) return 'own';
  return isUnderWay || mayComeBack ? 'unknown' : 'another';
}

/** null if the opening was not executed. */
async function tradeOf({ store }: Gateway, { chain, trader, orderId, tradeIndex }: OwedClosingSlippage): Promise<number | null> {
  if (orderId === null) return tradeIndex;
  const opened = await store.orders.find(chain, trader, orderId);
  return opened?.order.fill?.tradeIndex ?? null;
}

/** null if the agent may not act any more, or no wallet serves its trader. */
async function callerOf({ store }: Gateway, venue: Venue, { chain, trader, agent }: OwedClosingSlippage): Promise<AgentCaller | null> {
  const known = await store.access.findAgent(chain, agent);
  if (known?.revokedAt !== null || isExpired(known.scope, venue.clock.now())) return null;
  const sender = await venue.relayer?.walletFor(trader);
  if (sender === undefined) throw new GatewayError('CHAIN_READ_ONLY', { chain });
  return { via: 'agent', trader, agent, sender, mode: 'relayed', scope: known.scope };
}
