import type { TransactionRequest } from '../core/errors.js';

/** The status of one item, in the order of the items. */
export type ItemStatus =
  | { readonly error: string }
  | { readonly resting: { readonly oid: number; readonly cloid?: string } }
  | { readonly filled: { readonly totalSz: string; readonly avgPx: string; readonly oid: number; readonly cloid?: string } }
  | 'success'
  | 'waitingForFill'
  | 'waitingForTrigger';

/** What an action is answered, always with HTTP 200. Clients ignore what they do not know, so fields of our own may stand beside. */
export type ExchangeReply =
  | {
      readonly status: 'ok';
      readonly response: { readonly type: string; readonly data?: unknown };
      /** What the trader has to send before the agent can trade; null when that would change nothing. */
      readonly delegationTx?: TransactionRequest | null;
    }
  | { readonly status: 'err'; readonly response: string; readonly delegationTx?: TransactionRequest };

export const DONE: ExchangeReply = { status: 'ok', response: { type: 'default' } };

export const refused = (response: string): ExchangeReply => ({ status: 'err', response });

/** `cancel` for cancels of any kind, `order` for orders and for changes in batches. */
export const statuses = (type: 'order' | 'cancel', items: readonly ItemStatus[]): ExchangeReply => ({
  status: 'ok',
  response: { type, data: { statuses: items } },
});
