import type { Digits } from './digits.js';

/** Parts of table cells that several tabs share. */

/** A word in the colour of its direction. */
export function Side({ side }: { readonly side: 'long' | 'short' }) {
  return <span class={side === 'long' ? 'up' : 'down'}>{side}</span>;
}

interface FigureProps {
  readonly digits: Digits;
  readonly market: string | null;
  readonly value: string;
}

export function Price({ digits, market, value }: FigureProps) {
  return <span title={value}>{digits.price(market, value)}</span>;
}

export function Size({ digits, market, value }: FigureProps) {
  return <span title={value}>{digits.size(market, value)}</span>;
}
