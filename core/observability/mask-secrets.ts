import { redactText } from './redact.js';

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
