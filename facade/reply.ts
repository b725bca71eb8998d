import type { TransactionRequest } from '../core/errors.js';

/** The status of one item, in the order of the items. */
export type ItemStatus =
  | { readonly error: string }
  | { readonly resting: { readonly oid: number; readonly cloid?: string } }
  | { readonly filled: { readonly totalSz: string; readonly avgPx: string; readonly oid: number; readonly cloid?: string } }
  | 'success'
  | 'waitingForFill'
  | 'waitingForTrigger';

/** The reply to an action, always with HTTP 200. Clients ignore unknown fields, so we may add our own. */
export type ExchangeReply =
  | {
      readonly status: 'ok';
      readonly response: { readonly type: string; readonly data?: unknown };
      /** The transaction the trader has to send before the agent can trade; null if it would change nothing. */
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
