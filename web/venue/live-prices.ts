import { batch, signal, type Signal } from '@preact/signals';
import { createPaced } from '../api/paced.js';
import type { Link } from '../api/socket.js';
import type { Price } from './types.js';

const PAUSE_MS = 200;

/** A signal for each market: a new price redraws one text, not a table. */
export interface LivePrices {
  of(symbol: string): Signal<Price | null>;
  /** When anything last arrived, by this browser's clock; null before. */
  readonly arrivedAt: Signal<number | null>;
  stop(): void;
}

export function openPrices(link: Link): LivePrices {
  const known = new Map<string, Signal<Price | null>>();
  const arrivedAt = signal<number | null>(null);
  const of = (symbol: string): Signal<Price | null> => {
    const one = known.get(symbol) ?? signal<Price | null>(null);
    known.set(symbol, one);
    return one;
  };
  const paced = createPaced<readonly Price[]>(
    (prices) =>
      batch(() => {
        arrivedAt.value = Date.now();
        for (const price of prices) of(price.market).value = price;
      }),
    PAUSE_MS,
    (waiting, next) => [...new Map([...waiting, ...next].map((price) => [price.market, price])).values()],
  );
  const cancel = link.subscribe<readonly Price[]>({ channel: 'prices' }, { onMessage: ({ data }) => paced.push(data) });
  const stop = (): void => {
    cancel();
    paced.stop();
  };
  return { of, arrivedAt, stop };
}
