import type { Gateway } from '../../core/gateway.js';
import type { Address, Cancel } from '../../core/types.js';
import type { Outbox } from '../../core/stream/outbox.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import type { Frame } from './frames.js';
import type { Pace } from './pace.js';
import type { Topic } from './topic.js';

export interface ChannelContext {
  readonly gateway: Gateway;
  readonly stream: VenueStream;
  readonly outbox: Outbox;
  readonly topic: Topic;
  /** The account's trader; null on public channels. */
  readonly trader: Address | null;
  /** The cursor from which a reconnecting client wants to continue. */
  readonly after: bigint | null;
  /** Formats the next message of this subscription. */
  readonly frame: (frame: Frame) => string;
  /** How far the connection's `orders` were sent. */
  readonly ordersPace: Pace;
  /** Ends this subscription and sends the client the reason, as far as it is public. */
  readonly fail: (error: unknown) => void;
}

/** Throws an error of the catalogue if it cannot be served; sends nothing before `begin`, which follows the confirmation. */
export type OpenChannel = (context: ChannelContext) => { readonly begin: () => void; readonly stop: Cancel };
