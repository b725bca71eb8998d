import type { Hex } from '../types.js';

/** Says that a tag follows; the contract reads its arguments from the front and never gets here. */
const MAGIC = '6467777461673031';
const TAG_BYTES = 16;

/** Call data with the order's tag behind it. */
export const appendTag = (data: Hex, tag: Hex): Hex => `${data}${MAGIC}${tag.slice(2)}`;

/** Every tag in a transaction's input, wherever a smart account has wrapped it, each once. */
export function tagsIn(input: Hex): Hex[] {
  const hex = input.toLowerCase();
  const tags = new Set<Hex>();
  for (let at = hex.indexOf(MAGIC, 2); at !== -1; at = hex.indexOf(MAGIC, at + 1)) {
    const tag = hex.slice(at + MAGIC.length, at + MAGIC.length + 2 * TAG_BYTES);
    if (at % 2 === 0 && tag.length === 2 * TAG_BYTES) tags.add(`0x${tag}`);
  }
  return [...tags];
}
