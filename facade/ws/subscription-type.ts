import type { z } from 'zod';
import type { Address, Cancel } from '../../core/types.js';
import type { Outbox } from '../../core/stream/outbox.js';
import type { InfoContext } from '../info/info-type.js';
import type { VenueFeeds } from './venue-feeds.js';

export interface OpenContext {
  readonly context: InfoContext;
  readonly feeds: VenueFeeds;
  readonly outbox: Outbox;
  /** What a long snapshot weighs besides its question is paid by the questions after it. */
  readonly charge: (question: string, answer: readonly unknown[]) => void;
  /** What it lives from is lost: only a new line can go on. */
  readonly lose: (reason: string) => void;
}

/** Ready to speak, and silent until begun: the confirmation comes first. */
export interface Opened {
  readonly begin: () => void;
  readonly stop: Cancel;
}

interface Row<Fields extends z.ZodType> {
  readonly type: string;
  /** The info request that asks the same: a subscription weighs as much, or the socket would be the cheaper way to ask. */
  readonly question: string;
  readonly fields: Fields;
  /** What the confirmation says of fields that were left out. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** null where there is no such thing to subscribe to. */
  readonly open: (context: OpenContext, fields: z.output<Fields>) => Promise<Opened | null> | Opened | null;
}

export type SubscriptionType = Row<z.ZodType>;

/** What is made once for all lines, of whatever it is made, weighs as the lightest questions do. */
export const SHARED_BY_ALL = 'allMids';

/** The seam of the table: each row is checked against its own fields, afterwards the session sees only `SubscriptionType`. */
export const subscriptionType = <Fields extends z.ZodType>(row: Row<Fields>): SubscriptionType => row;

/** Whom a subscription tracks; null for what is everybody's. */
export const userOf = (fields: unknown): Address | null =>
  typeof fields === 'object' && fields !== null && 'user' in fields ? (fields.user as Address) : null;

/** For what never has anything to tell, or has told it with its first frame. */
export const tellOnce = ({ outbox }: OpenContext, text: string | null): Opened => ({
  begin: () => {
    if (text !== null) outbox.push(text);
  },
  stop: () => undefined,
});
