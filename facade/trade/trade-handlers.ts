import type { TradeWork } from './trade-work.js';
import { requireDelegate } from '../../core/access/agent-status.js';
import type { Gateway } from '../../core/gateway.js';
import { requireLane } from './send/require-lane.js';
import { runScheduled, updateLeverage, updateMargin } from './settings.js';
import { cancelByCloid, cancelByOid } from './cancel.js';
import { batchModify, modify } from './modify.js';
import { placeOrders } from './place.js';
import type { TradeHandler, TradeHandlers } from '../actions/trade-handlers.js';
import type { TradeActionOf, TradeType } from '../actions/trade.js';
import type { ExchangeReply } from '../reply.js';
import { createUniverses } from '../universe.js';

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
