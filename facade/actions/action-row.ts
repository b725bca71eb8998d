import type { z } from 'zod';
import type { JsonObject } from '../signing/ordered-json.js';
import type { UserSigned, UserSignedType } from '../signing/user-signed.js';
import type { TradeType } from './trade.js';

/** How an action with a valid signature is handled. */
export type Verdict<Action> =
  /** Run by the trade handler of this type. */
  | { readonly kind: 'trade'; readonly type: TradeType }
  | { readonly kind: 'approve-agent' }
  /** Accepted without effect, unless `refusal` returns a text for it. */
  | { readonly kind: 'no-op'; readonly refusal?: (action: Action) => string | null }
  | { readonly kind: 'refused'; readonly text: string }
  /** Refused with a status inside the response, where clients look for it. */
  | { readonly kind: 'refused-status'; readonly type: string; readonly text: string };

/** The refusal that depends on the type alone, before the signer is looked up; null if the action must be decoded first. */
export type RefusalByType = (action: JsonObject) => string | null;

/** How an action is signed, and therefore decoded. `any` is hashed as sent, without a schema. */
export type ActionRow = { readonly byType?: RefusalByType } & SignedRow;

type SignedRow =
  | { readonly scheme: 'l1'; readonly type: string; readonly schema: z.ZodType | 'any'; readonly verdict: Verdict<unknown> }
  | {
      readonly scheme: 'user-signed';
      readonly type: string;
      readonly signed: UserSignedType;
      readonly verdict: Verdict<UserSigned['values']>;
    }
  | { readonly scheme: 'multi-sig'; readonly type: string; readonly verdict: Verdict<unknown> & { readonly kind: 'refused' } };

/** Checks a row against its own schema; all other code sees only `ActionRow`. */
export const l1Row = <Schema extends z.ZodType>(type: string, schema: Schema, verdict: Verdict<z.output<Schema>>): ActionRow => ({
  scheme: 'l1',
  type,
  schema,
  verdict: verdict as Verdict<unknown>,
});

/** Actions of custody, vaults and sub-accounts are refused before the signer is looked up, so that the client gets this reason instead of "unknown signer". */
export const refusedByType = (row: ActionRow, text: string): ActionRow => ({ ...row, byType: () => text });

export const userRow = (type: string, signed: UserSignedType, verdict: Verdict<UserSigned['values']>): ActionRow => ({
  scheme: 'user-signed',
  type,
  signed,
  verdict,
});
