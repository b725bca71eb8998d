/** Deeper than any request of either front end. Writers, hashes and schemas recurse over what was parsed, so depth is bounded before that. */
export const MAX_JSON_DEPTH = 32;
export const TOO_DEEP = `is nested deeper than ${MAX_JSON_DEPTH} levels`;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}`: each pair differs by this bit only, which no other character outside of a string has in common with them. */
const CURLY_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * Whether brackets outside of strings are nested deeper than `most`. Iterative and without a copy, so that it holds for any text, JSON or not: a
 * text that is no JSON is either refused here or by the parser that follows.
 */
export function isNestedDeeper(text: string, most: number = MAX_JSON_DEPTH): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if ((code | CURLY_BIT) === OPENING) {
      depth += 1;
      if (depth > most) return true;
    } else if ((code | CURLY_BIT) === CLOSING) depth -= 1;
  }
  return false;
}

/** The position of the quote that ends the string beginning at `start`; the end of the text where there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

export type ParsedJson = { readonly value: unknown } | { readonly fault: 'not-json' | 'too-deep' };

/** `JSON.parse` for text that a stranger sent: it never throws, and what it returns can be walked by recursive code. */
export function parseJson(text: string): ParsedJson {
  if (isNestedDeeper(text)) return { fault: 'too-deep' };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { fault: 'not-json' };
  }
}
