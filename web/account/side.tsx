/** A word in the colour of its direction. */
export function Side({ side }: { readonly side: 'long' | 'short' }) {
  return <span class={side === 'long' ? 'up' : 'down'}>{side}</span>;
}
