import { batch, signal, type Signal } from '@preact/signals';
import type { Link } from '../api/socket.js';
import type { Price } from './types.js';

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
  const stop = link.subscribe<readonly Price[]>(
    { channel: 'prices' },
    {
      onMessage: ({ data }) =>
        batch(() => {
          arrivedAt.value = Date.now();
          for (const price of data) of(price.market).value = price;
        }),
    },
  );
  return { of, arrivedAt, stop };
}
