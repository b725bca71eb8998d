/** Limits on JSON from clients, for every front end. Serialisers, hashes and schemas recurse over parsed values, so they are checked first. */

/** No request of either front end is nested deeper. */
export const MAX_JSON_DEPTH = 32;
/** Many times the size of the largest request of either front end. A schema reports every invalid item separately. */
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
 * Which limit a text exceeds; null if none. Iterative and without a copy, so it works for any text; text that is not JSON is refused
 * here or by the parser that follows.
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

/** The position of the quote that ends the string beginning at `start`; the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

export type ParsedJson = { readonly value: unknown } | { readonly fault: 'not-json' | BoundsFault };

/** `JSON.parse` for text from a client: it never throws, and its result is safe for recursive code. */
export function parseJson(text: string, bounds?: JsonBounds): ParsedJson {
  const fault = boundsFault(text, bounds);
  if (fault !== null) return { fault };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { fault: 'not-json' };
  }
}
