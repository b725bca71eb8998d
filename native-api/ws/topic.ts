import type { CandleInterval } from '../../core/domain/candle.js';
import type { Channel, Subscription } from '../wire/stream.js';

/** A subscription's subject; at most once per connection. */
export interface Topic {
  readonly channel: Channel;
  readonly market?: string;
  readonly interval?: CandleInterval;
}

export const topicOf = (asked: Subscription): Topic => ({
  channel: asked.channel,
  ...('market' in asked && { market: asked.market }),
  ...('interval' in asked && { interval: asked.interval }),
});

export const keyOf = ({ channel, market, interval }: Topic): string => [channel, market, interval].join(' ');
