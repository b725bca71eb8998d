import { redactText } from '../core/redact.js';

/** Shorter parts of an address are words such as `rpc` or `v2`, which a sentence may hold by itself. */
const SHORTEST = 8;
const SHORTEST_OF_USER = 4;

/**
 * Providers put keys into user, path and query of an address, and some repeat them in what they say. Whatever is shown of a node's or a
 * host's words has passed through here.
 */
export function createMask(urls: readonly string[]): (text: string) => string {
  const secrets = [...new Set(urls.flatMap(partsOf))].sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '[redacted]'), redactText(text)).replace(UNPRINTABLE, '?');
}

const UNPRINTABLE = /[^\x20-\x7e\u00a0-\uffff]/g;

function partsOf(text: string): string[] {
  const { username, password, pathname, searchParams } = new URL(text);
  const words = [...pathname.split('/'), ...searchParams.values()].filter((part) => part.length >= SHORTEST);
  const user = [username, password].filter((part) => part.length >= SHORTEST_OF_USER);
  return [...words, ...user].flatMap((part) => [part, decoded(part)]);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
