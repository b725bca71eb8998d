import { GatewayError } from '../../core/errors.js';
import type { Venue } from '../../core/gateway.js';
import type { Cancel } from '../../core/types.js';
import { createRefresh } from '../../core/stream/refresh.js';
import { createTopic } from '../../core/stream/topic.js';

/** A frame, and what of it makes it another one: a moment alone does not. */
export interface Made {
  readonly text: string;
  readonly sameAs: string;
}

export interface HotFeedOptions {
  /** Changes that come faster are told together. */
  readonly gapMs: number;
  /** null while there is nothing to tell. */
  readonly make: () => Promise<Made | null>;
  /** Calls `ask` whenever it may have become another one. */
  readonly watch: (ask: () => void) => readonly Cancel[];
}

export interface HotFeed {
  /** The newest frame as soon as there is one, then every other one. */
  follow(listener: (text: string) => void): Cancel;
  readonly stop: Cancel;
}

/** One frame that is made once per change, however many lines it goes to. */
export function createHotFeed({ clock, log }: Venue, { gapMs, make, watch }: HotFeedOptions): HotFeed {
  const topic = createTopic<string>('facade', log);
  let latest: Made | null = null;

  const remake = async (): Promise<void> => {
    try {
      const made = await make();
      const isNews = made !== null && made.sameAs !== latest?.sameAs;
      latest = isNews || made === null ? made : latest;
      if (isNews) topic.tell(made.text);
    } catch (error) {
      // What cannot be told now is told when it can be; nobody new hears what is no longer true.
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
