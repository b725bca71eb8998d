import type { AgentCaller } from '../../core/access/caller.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { KeptAction } from '../../core/ports/stores/signers.js';
import type { ExchangeReply } from '../reply.js';
import type { TradeActionOf, TradeType } from './trade.js';

/** An action that may be done: the signature is an agent's, its nonce is spent and its proof kept, its limits and its delegation hold. */
export interface TradeContext extends KeptAction {
  readonly gateway: Gateway;
  readonly venue: Venue;
  /** `sender` is the wallet of the relayer that serves the trader. */
  readonly caller: AgentCaller;
}

export type TradeHandler<Type extends TradeType> = (context: TradeContext, action: TradeActionOf<Type>) => Promise<ExchangeReply>;

/** One for each action that trades; a new one does not compile without. Errors of the catalogue become `err` answers. */
export type TradeHandlers = { readonly [Type in TradeType]: TradeHandler<Type> };
