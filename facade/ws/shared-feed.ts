import { GatewayError } from '../../core/errors.js';
import type { Venue } from '../../core/gateway.js';
import type { Cancel } from '../../core/types.js';
import { createRefresh } from '../../core/stream/refresh.js';
import { createTopic } from '../../core/stream/bus.js';

/** A frame, and the part of it that counts as a change: the timestamp alone does not. */
export interface Made {
  readonly text: string;
  readonly sameAs: string;
}

export interface SharedFeedOptions {
  /** Changes that come faster are merged. */
  readonly gapMs: number;
  /** null while there is nothing to publish. */
  readonly make: () => Promise<Made | null>;
  /** Calls `ask` whenever the frame may have changed. */
  readonly watch: (ask: () => void) => readonly Cancel[];
}

export interface SharedFeed {
  /** Sends the newest frame as soon as there is one, then each changed one. */
  follow(listener: (text: string) => void): Cancel;
  readonly stop: Cancel;
}

/** A frame that is built once per change, however many connections receive it. */
export function createSharedFeed({ clock, log }: Venue, { gapMs, make, watch }: SharedFeedOptions): SharedFeed {
  const topic = createTopic<string>('facade', log);
  let latest: Made | null = null;

  const remake = async (): Promise<void> => {
    try {
      const made = await make();
      const isChanged = made !== null && made.sameAs !== latest?.sameAs;
      latest = isChanged || made === null ? made : latest;
      if (isChanged) topic.publish(made.text);
    } catch (error) {
      // Built again when it can be; new subscribers must not get a stale frame.
      latest = null;
      if (!(error instanceof GatewayError)) log.warn('facade.feed-not-made', { error });
    }
  };

  const refresh = createRefresh(clock, gapMs, remake);
  const cancels = [...watch(() => refresh.ask()), refresh.stop];
  refresh.ask();
  return {
    follow(listener) {
      if (latest !== null) listener(latest.text);
      return topic.listen(listener);
    },
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}
