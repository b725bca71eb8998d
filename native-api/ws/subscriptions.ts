import { GatewayError } from '../../core/errors.js';
import type { Cancel } from '../../core/types.js';
import type { Share } from '../../core/stream/address-shares.js';
import { isPrivate } from '../wire/stream.js';
import { keyOf, type Topic } from './topic.js';

/** The subscriptions of one connection. */
export interface Subscriptions {
  has(topic: Topic): boolean;
  /** Throws if the connection's limit is reached. */
  refuseFull(): void;
  /** Stops it again and throws if the address's limit is reached. */
  add(topic: Topic, stop: Cancel): void;
  /** False if there was none. */
  remove(topic: Topic): boolean;
  /** Ends those of the account and returns them. */
  removePrivate(): readonly Topic[];
  clear(): void;
}

export function createSubscriptions(most: number, share: Share, onCount: (change: 1 | -1) => void): Subscriptions {
  const held = new Map<string, { readonly topic: Topic; readonly stop: Cancel }>();
  const remove = (topic: Topic): boolean => {
    const known = held.get(keyOf(topic));
    if (held.delete(keyOf(topic))) {
      onCount(-1);
      share.giveBack(null);
    }
    known?.stop();
    return known !== undefined;
  };
  return {
    has: (topic) => held.has(keyOf(topic)),
    refuseFull() {
      if (held.size >= most) throw full(`A connection holds at most ${most} subscriptions`);
    },
    add(topic, stop) {
      // The connection's account is authenticated, so it does not count as a watched user.
      if (share.take(null) !== null) {
        stop();
        throw full('The connections of this address hold as many subscriptions as they may');
      }
      held.set(keyOf(topic), { topic, stop });
      onCount(1);
    },
    remove,
    removePrivate() {
      const topics = [...held.values()].map(({ topic }) => topic).filter(({ channel }) => isPrivate(channel));
      topics.forEach(remove);
      return topics;
    },
    clear: () => [...held.values()].forEach(({ topic }) => remove(topic)),
  };
}

const full = (reason: string): GatewayError =>
  new GatewayError('RATE_LIMITED', { scope: 'ip', retryAfterSeconds: 1, reason: `${reason}; end some of them` });
