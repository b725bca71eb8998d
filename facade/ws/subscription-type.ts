import type { z } from 'zod';
import type { Address, Cancel } from '../../core/types.js';
import type { Outbox } from '../../core/stream/outbox.js';
import type { InfoContext } from '../info/info-type.js';
import type { VenueFeeds } from './venue-feeds.js';

export interface OpenContext {
  readonly context: InfoContext;
  readonly feeds: VenueFeeds;
  readonly outbox: Outbox;
  /** Charges the length of a snapshot, which counts against later requests. */
  readonly charge: (question: string, answer: readonly unknown[]) => void;
  /** Its source failed: the client has to reconnect. */
  readonly lose: (reason: string) => void;
}

/** An opened subscription sends nothing before `begin`: the confirmation comes first. */
export interface Opened {
  readonly begin: () => void;
  readonly stop: Cancel;
}

interface Row<Fields extends z.ZodType> {
  readonly type: string;
  /** The info request with the same content: a subscription weighs as much, otherwise the WebSocket would be cheaper. */
  readonly question: string;
  readonly fields: Fields;
  /** Values that the confirmation shows for omitted fields. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** null if there is no such subject. */
  readonly open: (context: OpenContext, fields: z.output<Fields>) => Promise<Opened | null> | Opened | null;
}

export type SubscriptionType = Row<z.ZodType>;

/** Feeds shared by all connections weigh as little as the lightest requests. */
export const SHARED_BY_ALL = 'allMids';

/** Checks a row against its own fields; the session sees only `SubscriptionType`. */
export const subscriptionType = <Fields extends z.ZodType>(row: Row<Fields>): SubscriptionType => row;

/** The user that a subscription tracks; null for public ones. */
export const userOf = (fields: unknown): Address | null =>
  typeof fields === 'object' && fields !== null && 'user' in fields ? (fields.user as Address) : null;

/** For subscriptions with a first frame and no updates, or with neither. */
export const sendOnce = ({ outbox }: OpenContext, text: string | null): Opened => ({
  begin: () => {
    if (text !== null) outbox.push(text);
  },
  stop: () => undefined,
});
