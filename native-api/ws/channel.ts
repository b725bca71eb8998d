import type { Gateway } from '../../core/gateway.js';
import type { Address, Cancel } from '../../core/types.js';
import type { Outbox } from '../../core/stream/outbox.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import type { Frame, Topic } from './messages.js';

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

/**
 * How far one channel of an account was sent on a connection. The `fills` of a connection wait for its `orders`: a client must see the
 * order of a fill before the fill.
 */
interface Pace {
  /** The channel is subscribed to; others wait until it reports its position. */
  begin(trader: Address): void;
  reach(cursor: bigint): void;
  /** The channel is no longer subscribed to: nothing waits for it. */
  end(): void;
  /** Resolves once the channel of this trader was sent up to the cursor, or is not subscribed to. */
  reached(trader: Address, cursor: bigint): Promise<void>;
}

export function createPace(): Pace {
  /** Null while there is no such subscription. */
  let position: bigint | null = null;
  let owner: Address | null = null;
  let waiting: { readonly cursor: bigint; readonly resolve: () => void }[] = [];

  const isReached = (cursor: bigint): boolean => position === null || position >= cursor;
  const wake = (): void => {
    const ready = waiting.filter(({ cursor }) => isReached(cursor));
    waiting = waiting.filter(({ cursor }) => !isReached(cursor));
    for (const { resolve } of ready) resolve();
  };

  return {
    begin(trader) {
      owner = trader;
      position = -1n;
    },
    reach(cursor) {
      if (position === null || cursor <= position) return;
      position = cursor;
      wake();
    },
    end() {
      position = null;
      wake();
    },
    reached: (trader, cursor) =>
      trader !== owner || isReached(cursor) ? Promise.resolve() : new Promise((resolve) => waiting.push({ cursor, resolve })),
  };
}
