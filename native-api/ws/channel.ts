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
  /** Whose account it is; null on public channels. */
  readonly trader: Address | null;
  /** Where a client that slept wants to go on. */
  readonly after: bigint | null;
  /** The next message of this subscription. */
  readonly frame: (frame: Frame) => string;
  /** How far the connection's `orders` have been sent. */
  readonly ordersPace: Pace;
  /** Ends this subscription with what the client may know of the reason. */
  readonly fail: (error: unknown) => void;
}

/** Throws what the catalogue knows when it cannot be served; begins to speak only when begun, after it was confirmed. */
export type OpenChannel = (context: ChannelContext) => { readonly begin: () => void; readonly stop: Cancel };
