/** What text from a client may hold, for every front end. Writers, hashes and schemas recurse over what was parsed, so this is checked first. */

/** Deeper than any request of either front end. */
export const MAX_JSON_DEPTH = 32;
/** Many times what the largest request of either front end has. A schema reports every item that does not fit, one by one. */
export const MAX_JSON_ITEMS = 20_000;

export type BoundsFault = 'too-deep' | 'too-many';
export const BOUNDS_TEXTS: Readonly<Record<BoundsFault, string>> = {
  'too-deep': `is nested deeper than ${MAX_JSON_DEPTH} levels`,
  'too-many': `has more than ${MAX_JSON_ITEMS} items`,
};

export interface JsonBounds {
  readonly depth?: number;
  /** Commas outside of strings. */
  readonly items?: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** `[` and `{` differ by this bit only, and so do `]` and `}`. */
const CURLY_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * What a text has too much of; null where it keeps the bounds. Iterative and without a copy, so that it holds for any text, JSON or not: a
 * text that is no JSON is refused either here or by the parser that follows.
 */
export function boundsFault(text: string, { depth: most = MAX_JSON_DEPTH, items = MAX_JSON_ITEMS }: JsonBounds = {}): BoundsFault | null {
  let depth = 0;
  let commas = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) {
      commas += 1;
      if (commas > items) return 'too-many';
    } else if ((code | CURLY_BIT) === OPENING) {
      depth += 1;
      if (depth > most) return 'too-deep';
    } else if ((code | CURLY_BIT) === CLOSING) depth -= 1;
  }
  return null;
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

export type ParsedJson = { readonly value: unknown } | { readonly fault: 'not-json' | BoundsFault };

/** `JSON.parse` for text that a client sent: it never throws, and what it returns can be walked by recursive code. */
export function parseJson(text: string, bounds?: JsonBounds): ParsedJson {
  const fault = boundsFault(text, bounds);
  if (fault !== null) return { fault };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { fault: 'not-json' };
  }
}
