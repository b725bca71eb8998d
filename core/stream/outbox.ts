import type { Line } from './line.js';

export interface OutboxLimits {
  /** While the network holds more than this, everything waits here. */
  readonly inFlight: number;
  /** What may wait here before the line is given up. */
  readonly queued: number;
}

/** Characters, which for our messages are bytes. */
export const OUTBOX_LIMITS: OutboxLimits = { inFlight: 64 * 1024, queued: 1024 * 1024 };

/** Something whose words are chosen when there is room for them, so that waiting costs no memory. */
export interface Offer {
  /** Null when there is nothing to say after all. */
  take(): string | null;
}

export interface Outbox {
  /** Sent in order and never dropped: a line that lets too much of it pile up is given up. */
  push(text: string): void;
  /** Asked for its words as soon as there is room; offered again meanwhile, it keeps its place and is asked once. */
  offer(offer: Offer): void;
  withdraw(offer: Offer): void;
  /** Resolves when nothing waits here any more, also because the end has come. */
  whenEmpty(): Promise<void>;
  /** Forgets what waits, takes nothing more. */
  end(): void;
}

export interface OutboxEvents {
  /** Too much piled up; nothing is sent any more. */
  readonly onSlow: () => void;
  /** An offer found no words; it is skipped. */
  readonly onFault: (error: unknown) => void;
}

/** Back-pressure of one line: what it may lag behind is bounded, whatever is subscribed to and however slowly it is read. */
export function createOutbox(line: Pick<Line, 'send'>, limits: OutboxLimits, { onSlow, onFault }: OutboxEvents): Outbox {
  let queue: string[] = [];
  let queued = 0;
  let inFlight = 0;
  let isPumping = false;
  let isEnded = false;
  let waiting: (() => void)[] = [];
  const offers = new Set<Offer>();

  const wordsOf = (offer: Offer): string | null => {
    try {
      return offer.take();
    } catch (error) {
      onFault(error);
      return null;
    }
  };

  const nextText = (): string | null => {
    const text = queue.shift();
    if (text !== undefined) {
      queued -= text.length;
      return text;
    }
    for (const offer of offers) {
      offers.delete(offer);
      const words = wordsOf(offer);
      if (words !== null) return words;
    }
    return null;
  };

  const transmit = (text: string): void => {
    inFlight += text.length;
    line.send(text, () => {
      inFlight -= text.length;
      pump();
    });
  };

  const pump = (): void => {
    if (isPumping || isEnded) return;
    isPumping = true;
    while (inFlight < limits.inFlight) {
      const text = nextText();
      if (text === null) {
        wake();
        break;
      }
      transmit(text);
    }
    isPumping = false;
  };

  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };

  const end = (): void => {
    isEnded = true;
    queue = [];
    queued = 0;
    offers.clear();
    wake();
  };

  return {
    end,
    push(text) {
      if (isEnded) return;
      queue.push(text);
      queued += text.length;
      pump();
      if (queued <= limits.queued) return;
      end();
      onSlow();
    },
    offer(offer) {
      if (isEnded) return;
      offers.add(offer);
      pump();
    },
    withdraw: (offer) => void offers.delete(offer),
    whenEmpty: () =>
      isEnded || (queue.length === 0 && offers.size === 0) ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
}
