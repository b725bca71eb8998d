import type { AgentCaller } from '../../core/access/caller.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Hex } from '../../core/ports.js';
import type { ExchangeReply } from '../reply.js';
import type { Form } from '../signing/canonical.js';
import type { NetworkWord } from '../signing/phantom-agent.js';
import type { TradeActionOf, TradeType } from './trade.js';

/** What was signed, and how it was found out: everything a proof of the relay needs. */
export interface SignedEnvelope {
  /** The body as it arrived. */
  readonly text: string;
  readonly actionHash: Hex;
  readonly form: Form;
  readonly network: NetworkWord;
  readonly nonce: bigint;
  /** Epoch ms. */
  readonly receivedAt: number;
}

/** An action that may be done: the signature is an agent's, its nonce is spent, its limits and its delegation hold. */
export interface TradeContext {
  readonly gateway: Gateway;
  readonly venue: Venue;
  /** `sender` is the wallet of the relayer that serves the trader. */
  readonly caller: AgentCaller;
  readonly signed: SignedEnvelope;
}

export type TradeHandler<Type extends TradeType> = (context: TradeContext, action: TradeActionOf<Type>) => Promise<ExchangeReply>;

/** One for each action that trades; a new one does not compile without. Errors of the catalogue become `err` answers. */
export type TradeHandlers = { readonly [Type in TradeType]: TradeHandler<Type> };
