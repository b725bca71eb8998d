import type { Hex } from '../types.js';

/** Marks a tag; the contract ignores bytes after its arguments. */
const MAGIC = '6467777461673031';
const TAG_BYTES = 16;

/** Calldata followed by the order's tag. */
export const appendTag = (data: Hex, tag: Hex): Hex => `${data}${MAGIC}${tag.slice(2)}`;

/** The distinct tags in a transaction's input, at any offset, because a smart account may wrap the call. */
export function tagsIn(input: Hex): Hex[] {
  const hex = input.toLowerCase();
  const tags = new Set<Hex>();
  for (let at = hex.indexOf(MAGIC, 2); at !== -1; at = hex.indexOf(MAGIC, at + 1)) {
    const tag = hex.slice(at + MAGIC.length, at + MAGIC.length + 2 * TAG_BYTES);
    if (at % 2 === 0 && tag.length === 2 * TAG_BYTES) tags.add(`0x${tag}`);
  }
  return [...tags];
}
