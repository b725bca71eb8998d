import { redactText } from './redact.js';

/** Shorter parts of an address are words such as `rpc` or `v2`, which a sentence may hold by itself. */
const SHORTEST = 8;
const SHORTEST_OF_USER = 4;

export type Mask = (text: string) => string;

/**
 * Providers put keys into user, path and query of an address, and some repeat them in what they say: nothing a node says is passed on
 * before its own address is taken out of it.
 */
export function hideAddress(urls: readonly string[]): Mask {
  const secrets = [...new Set(urls.flatMap(partsOf))].sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '[redacted]'), text);
}

/** For what is shown to a person: no other address and no key in it either, and nothing that a terminal would obey. */
export function createMask(urls: readonly string[]): Mask {
  const hide = hideAddress(urls);
  return (text) => hide(redactText(text)).replace(UNPRINTABLE, '?');
}

const UNPRINTABLE = /[^\x20-\x7e\u00a0-\uffff]/g;

function partsOf(text: string): string[] {
  const { username, password, pathname, search } = new URL(text);
  // A key may stand in a query as a name without a value.
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
