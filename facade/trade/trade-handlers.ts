import type { Gateway } from '../../core/gateway.js';
import { requireLane } from '../../core/relay/require-lane.js';
import type { SignedAction } from '../../core/relay/relay-store.js';
import { runScheduled, updateLeverage, updateMargin } from './settings.js';
import { cancelByCloid, cancelByOid } from './cancel.js';
import { batchModify, modify } from './modify.js';
import { placeOrders } from './place.js';
import type { TradeContext, TradeHandler, TradeHandlers } from '../actions/trade-handlers.js';
import type { TradeActionOf, TradeType } from '../actions/trade.js';
import type { ExchangeReply } from '../reply.js';
import { createUniverses, type Universe } from '../universe.js';

/** An action whose signed form is stored: from here on the relayer may be asked to sign for it. */
export interface TradeWork extends TradeContext {
  readonly action: SignedAction;
  readonly universe: Universe;
  /** How long the answer may be held back for the outcome. */
  readonly holdMs: number;
}

type Work<Type extends TradeType> = (work: TradeWork, action: TradeActionOf<Type>) => Promise<ExchangeReply>;

/** Every action that trades, with the proof of it stored before anything is done. */
export function createTradeHandlers(gateway: Gateway): TradeHandlers {
  const { holdMs } = gateway.facade;
  const universes = createUniverses(gateway);
  const handler =
    <Type extends TradeType>(work: Work<Type>): TradeHandler<Type> =>
    async (context, action) => {
      const { venue, caller, signed } = context;
      const { text: envelope, ...proof } = signed;
      const [stored, universe] = await Promise.all([
        gateway.store.relay.recordAction({ chain: venue.definition.slug, signer: caller.agent, trader: caller.trader, envelope, ...proof }),
        universes.of(venue),
      ]);
      return work({ ...context, action: stored, universe, holdMs }, action);
    };
  /** What has to reach the chain is not begun while it cannot; cancels find out themselves, since some need no transaction. */
  const sender =
    <Type extends TradeType>(work: Work<Type>): TradeHandler<Type> =>
    async (context, action) => {
      requireLane(context.venue, context.caller);
      return handler(work)(context, action);
    };
  return {
    order: sender(placeOrders),
    cancel: handler(cancelByOid),
    cancelByCloid: handler(cancelByCloid),
    modify: sender(modify),
    batchModify: sender(batchModify),
    scheduleCancel: handler(runScheduled),
    updateLeverage: handler(updateLeverage),
    updateIsolatedMargin: sender(updateMargin),
  };
}
