import type { TradeWork } from './trade-work.js';
import { requireDelegate } from '../../core/access/agent-status.js';
import { haltAfterLoss } from '../../core/access/openings-after-loss.js';
import type { Gateway } from '../../core/gateway.js';
import { requireLane, closedText } from '../../core/trading/place-order.js';
import { cancelByCloid, cancelByOid } from './cancel.js';
import { batchModify, modify } from './modify.js';
import { placeOrders } from './place.js';
import type { TradeActionOf, TradeHandler, TradeHandlers, TradeType } from '../actions/trade.js';
import { type ExchangeReply, DONE, refused } from '../reply.js';
import { createUniverses } from '../universe.js';
import { orderMarket } from '../../core/trading/order-request.js';
import { maxLeverageOf } from '../../core/domain/market.js';
import { relayMargin } from './send/relay-margin.js';
import { TEXTS } from '../reply.js';
import { haltedText, ITEM_TEXTS } from './item-texts.js';

type Work<Type extends TradeType> = (work: TradeWork, action: TradeActionOf<Type>) => Promise<ExchangeReply>;

/** All trading actions. The signed form is stored, because the relayer checks it before signing. */
export function createTradeHandlers(gateway: Gateway): TradeHandlers {
  const universes = createUniverses(gateway);
  const handler =
    <Type extends TradeType>(work: Work<Type>): TradeHandler<Type> =>
    async (context, action) =>
      work({ ...context, universe: await universes.of(context.venue), holdMs: gateway.facade.holdMs }, action);
  /** Refuses transactions while nothing can be sent; cancels check this themselves, as some need no transaction. */
  const sender =
    <Type extends TradeType>(work: Work<Type>): TradeHandler<Type> =>
    async (context, action) => {
      requireLane(context.venue, context.caller);
      return handler(work)(context, action);
    };
  /** New orders are simulated as they will be sent, and the same request shows whether the trader has delegated. */
  const delegated =
    <Type extends TradeType>(work: TradeHandler<Type>): TradeHandler<Type> =>
    async (context, action) => {
      await requireDelegate(context.venue, context.caller);
      return work(context, action);
    };
  return {
    order: sender(placeOrders),
    cancel: delegated(handler(cancelByOid)),
    cancelByCloid: delegated(handler(cancelByCloid)),
    modify: delegated(sender(modify)),
    batchModify: delegated(sender(batchModify)),
    scheduleCancel: delegated(handler(runScheduled)),
    updateLeverage: delegated(handler(updateLeverage)),
    updateIsolatedMargin: delegated(sender(updateMargin)),
  };
}

/** A schedule nearer than this would fire before it could be postponed. */
const SOONEST_MS = 5_000;
/** A running bot postpones its schedule long before this; a later date would only occupy a row. */
const LATEST_MS = 7 * 86_400_000;

/** The dead man's switch: sets, postpones or removes a schedule. */
async function runScheduled(work: TradeWork, { time }: TradeActionOf<'scheduleCancel'>): Promise<ExchangeReply> {
  const { gateway, venue, caller, action } = work;
  if (time !== undefined && time < venue.clock.now() + SOONEST_MS) return refused(TEXTS.scheduledTooSoon(time, venue.clock.now()));
  if (time !== undefined && time > venue.clock.now() + LATEST_MS) return refused(TEXTS.scheduledTooLate);
  const { trader, agent } = caller;
  // A schedule that cannot be executed is worse than none; removing one is always allowed.
  const closed = time === undefined || venue.relayer === null ? null : closedText(venue.relayer.walletMode(caller.sender));
  if (closed !== null) return refused(closed);
  const isSet = await gateway.store.exchange.schedule({
    chain: venue.definition.slug,
    trader,
    agent,
    action: action.id,
    dueAt: time ?? null,
  });
  return isSet ? DONE : refused(TEXTS.unknownSigner(agent));
}

/** Stored for the next opening; open trades keep theirs. */
async function updateLeverage(work: TradeWork, action: TradeActionOf<'updateLeverage'>): Promise<ExchangeReply> {
  const { gateway, venue, caller, universe, action: signed } = work;
  const { asset: id, isCross, leverage } = action;
  const asset = universe.assets[id];
  if (!asset?.pair) return refused(ITEM_TEXTS.invalidAsset);
  const { view } = orderMarket(venue, { market: asset.symbol });
  const most = Number(maxLeverageOf(view.pair, view.group)) / 1000;
  if (leverage < 1 || leverage > most) return refused('Invalid leverage value');
  const { maxLeverage } = caller.scope;
  if (maxLeverage !== null && BigInt(leverage) * 10n ** BigInt(maxLeverage.scale) > maxLeverage.units)
    return refused('Invalid leverage value');
  await gateway.store.facade.leverage.set(venue.definition.slug, caller.trader, id, { leverage, isCross, action: signed.id });
  return DONE;
}

/** Adds margin to a position or removes some. */
async function updateMargin(work: TradeWork, { asset: id, ntli }: TradeActionOf<'updateIsolatedMargin'>): Promise<ExchangeReply> {
  const { gateway, venue, caller, action, universe, holdMs } = work;
  const asset = universe.assets[id];
  if (!asset?.pair) return refused(ITEM_TEXTS.invalidAsset);
  if (ntli === 0) return refused('Update to isolated margin cannot be zero.');
  const halt = await haltAfterLoss(gateway, venue, caller);
  if (halt !== null) return refused(haltedText(halt));
  const outcome = await relayMargin(gateway, venue, caller, action, { pairIndex: id, microUsd: BigInt(ntli), holdMs });
  switch (outcome.kind) {
    case 'done':
      return DONE;
    case 'no-position':
      return refused('Cannot update margin for empty position.');
    case 'pending':
      return refused(
        `The change of margin is pending: it was sent and the oracle has not answered yet. It may still be executed. oid=${outcome.oid}`,
      );
    case 'too-little':
    case 'rejected':
      return refused(
        ntli < 0 ? 'Position does not have sufficient margin for reduction.' : 'The amount is too small to change the position.',
      );
  }
}
