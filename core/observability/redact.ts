/** Removes secrets from everything that leaves the process as a log line or an error text. */

const SECRET_NAME = /(?:key|secret|password|passphrase|signature|authorization|mnemonic|token|cookie|credential|rawtransaction)s?$/i;
/** Names that end like a secret but are needed in logs. */
const HARMLESS_NAME = /^(?:collateralToken|positionSizeToken|publicKey)$/;
const PRIVATE_KEY = /\b(?:0x)?[0-9a-fA-F]{64}\b/g;
const URL_PATTERN = /\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s"'<>]+/g;
const HIDDEN = '[redacted]';
const MAX_DEPTH = 6;

/** Hides 32-byte words in free text, because a private key is one; hashes are logged in their own fields. */
export const redactText = (text: string): string => text.replace(URL_PATTERN, redactUrl).replace(PRIVATE_KEY, HIDDEN);

/**
 * Keeps scheme, host and port, by which an operator recognises an endpoint. Providers put API keys into user info, path and query. If an @
 * follows the host, the host may be the start of a password that should have been encoded.
 */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return HIDDEN;
  const parsed = new URL(text);
  if (`${parsed.pathname}${parsed.search}${parsed.hash}`.includes('@')) return HIDDEN;
  const hidden = parsed.username !== '' || parsed.password !== '' || parsed.search !== '' || parsed.pathname.length > 1;
  return `${parsed.protocol}//${parsed.host}${hidden ? '/…' : ''}`;
}

export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.length === 66 && value.startsWith('0x') ? value : redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (value instanceof Error) return redactError(value, depth);
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, isSecret(name, field) ? HIDDEN : redact(field, depth + 1)]),
  );
}

const isSecret = (name: string, field: unknown): boolean =>
  field !== null && field !== undefined && typeof field !== 'boolean' && SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);

function redactError(error: Error, depth: number): Record<string, unknown> {
  return {
    name: error.name,
    message: redactText(error.message),
    stack: redactText(error.stack?.split('\n').slice(1, 8).join('\n') ?? ''),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
  };
}

/** Shorter parts of a URL are words such as `rpc` or `v2`, which may occur in any text. */
const SHORTEST = 8;
const SHORTEST_OF_USER = 4;

export type Mask = (text: string) => string;

/**
 * Providers put keys into user, path and query of a URL, and some repeat them in messages: a node's messages are used only after its own
 * URL was removed.
 */
export function hideAddress(urls: readonly string[]): Mask {
  const secrets = [...new Set(urls.flatMap(partsOf))].sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '[redacted]'), text);
}

/** For text shown to people: also removes other URLs, keys and terminal control characters. */
export function createMask(urls: readonly string[]): Mask {
  const hide = hideAddress(urls);
  return (text) => hide(redactText(text)).replace(UNPRINTABLE, '?');
}

const UNPRINTABLE = /[^\x20-\x7e\u00a0-\uffff]/g;

function partsOf(text: string): string[] {
  const { username, password, pathname, search } = new URL(text);
  // A key may be a query parameter without a value.
  const words = [...pathname.split('/'), ...search.slice(1).split(/[&=]/)].filter((part) => part.length >= SHORTEST);
  const user = [username, password].filter((part) => part.length >= SHORTEST_OF_USER);
  const login = username + password === '' ? [] : [Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')];
  return [...words, ...user, ...login].flatMap((part) => [part, decoded(part)]);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
