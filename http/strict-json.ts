import { GatewayError, type Issue } from '../core/errors.js';

/** A body can have any number of faults, each reported with its path: a small body must not cause a huge reply. */
export const MAX_ISSUES = 50;
const HALF_PAIR = /\p{Surrogate}/u;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Strict JSON. `JSON.parse` takes the last of two equal keys and accepts `__proto__`, so the parsed value could differ from what was
 * signed; text that no database can store (NUL, half a surrogate pair) is refused here, once.
 */
export function readStrictJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  const value = parse(text);
  const issues = scan(text);
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues });
  return value;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw refusal('is not UTF-8');
  }
}

function parse(text: string): unknown {
  const parsed = parseJson(text);
  if ('value' in parsed) return parsed.value;
  throw refusal(parsed.fault === 'not-json' ? 'is not JSON' : BOUNDS_TEXTS[parsed.fault]);
}

const refusal = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message }] });

interface Level {
  /** Keys seen so far; null inside an array. */
  readonly keys: Set<string> | null;
  /** The current key, or the index in the array. */
  at: string | number;
  awaitsKey: boolean;
}

/** Scans text that is known to be JSON, so only strings and brackets have to be recognised. */
function scan(text: string): Issue[] {
  const issues: Issue[] = [];
  const levels: Level[] = [];
  for (let index = 0; index < text.length && issues.length < MAX_ISSUES; index += 1) {
    const level = levels.at(-1);
    switch (text[index]) {
      case '{':
      case '[':
        levels.push(text[index] === '{' ? { keys: new Set(), at: '', awaitsKey: true } : { keys: null, at: 0, awaitsKey: false });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level) advance(level);
        break;
      case '"': {
        const end = endOfString(text, index);
        readString(JSON.parse(text.slice(index, end + 1)) as string, levels, issues);
        index = end;
      }
    }
  }
  return issues;
}

function advance(level: Level): void {
  if (level.keys) level.awaitsKey = true;
  else level.at = Number(level.at) + 1;
}

function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}

function readString(value: string, levels: readonly Level[], issues: Issue[]): void {
  const level = levels.at(-1);
  const isKey = level?.keys != null && level.awaitsKey;
  if (isKey) {
    level.at = value;
    level.awaitsKey = false;
  }
  const complain = (message: string): unknown => issues.push({ path: pathOf(levels), message });
  if (value.includes('\0')) complain('holds a NUL character');
  else if (HALF_PAIR.test(value)) complain('holds half of a surrogate pair');
  else if (isKey && level.keys.has(value)) complain('appears twice');
  else if (isKey && value === '__proto__') complain('is not a field');
  if (isKey) level.keys.add(value);
}

/** An issue quotes the client's keys, so each is cut to a readable length. */
const pathOf = (levels: readonly Level[]): string => levels.map(({ at }) => String(at).slice(0, 64)).join('.');

/** Limits on JSON from clients, for every front end. Serialisers, hashes and schemas recurse over parsed values, so they are checked first. */

/** No request of either front end is nested deeper. */
export const MAX_JSON_DEPTH = 32;
/** Many times the size of the largest request of either front end. A schema reports every invalid item separately. */
export const MAX_JSON_ITEMS = 20_000;

type BoundsFault = 'too-deep' | 'too-many';
export const BOUNDS_TEXTS: Readonly<Record<BoundsFault, string>> = {
  'too-deep': `is nested deeper than ${MAX_JSON_DEPTH} levels`,
  'too-many': `has more than ${MAX_JSON_ITEMS} items`,
};

interface JsonBounds {
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
    if (code === QUOTE) at = closingQuote(text, at);
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
function closingQuote(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

type ParsedJson = { readonly value: unknown } | { readonly fault: 'not-json' | BoundsFault };

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
