import type { z } from 'zod';
import type { JsonObject } from '../signing/ordered-json.js';
import type { UserSigned, UserSignedType } from '../signing/user-signed.js';
import type { TradeType } from './trade.js';

/** What becomes of an action whose signature is good. */
export type Verdict<Action> =
  /** Done by the handler of its name. */
  | { readonly kind: 'trade'; readonly type: TradeType }
  | { readonly kind: 'approve-agent' }
  /** Nothing, and that is fine; unless this very use of it is refused with a sentence. */
  | { readonly kind: 'no-op'; readonly refusal?: (action: Action) => string | null }
  | { readonly kind: 'refused'; readonly text: string }
  /** Refused inside the answer, where clients look for it. */
  | { readonly kind: 'refused-status'; readonly type: string; readonly text: string };

/** What an action is refused with before its signer is looked up; null when it has to be read first. */
export type RefusalByType = (action: JsonObject) => string | null;

/** How an action is signed, and therefore read. `any` is hashed as it came: nobody needs to know what is in it. */
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

/** The seam of the table: here a row is checked against its own schema, afterwards everybody sees only `ActionRow`. */
export const l1Row = <Schema extends z.ZodType>(type: string, schema: Schema, verdict: Verdict<z.output<Schema>>): ActionRow => ({
  scheme: 'l1',
  type,
  schema,
  verdict: verdict as Verdict<unknown>,
});

/** Custody actions are refused before the signer is looked up: a client reads why, and not that its key is unknown. */
export const refusedByType = (row: ActionRow, text: string): ActionRow => ({ ...row, byType: () => text });

export const userRow = (type: string, signed: UserSignedType, verdict: Verdict<UserSigned['values']>): ActionRow => ({
  scheme: 'user-signed',
  type,
  signed,
  verdict,
});
