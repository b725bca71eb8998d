import type { AgentCaller } from '../../core/access/caller.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { KeptAction } from '../../core/ports/stores/signers.js';
import type { ExchangeReply } from '../reply.js';
import type { TradeActionOf, TradeType } from './trade.js';

/** An admitted action: signed by an agent, with its nonce used, its proof stored, and its limits and delegation checked. */
export interface TradeContext extends KeptAction {
  readonly gateway: Gateway;
  readonly venue: Venue;
  /** `sender` is the relayer wallet that serves the trader. */
  readonly caller: AgentCaller;
}

export type TradeHandler<Type extends TradeType> = (context: TradeContext, action: TradeActionOf<Type>) => Promise<ExchangeReply>;

/** One handler per trading action; the type requires all of them. Errors of the catalogue become `err` replies. */
export type TradeHandlers = { readonly [Type in TradeType]: TradeHandler<Type> };
