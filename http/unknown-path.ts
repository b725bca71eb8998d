/** The answer to a path that leads nowhere: most clients that ask for one have a wrong base URL, so it names the right one. */

const FACADE_WORDS: ReadonlySet<string> = new Set(['info', 'exchange']);

const withoutQuery = (url: string): string => url.replace(/\?.*$/s, '');
/** With single slashes and none at the end: clients join their base URL and the rest in every way. */
const tidy = (path: string): string => path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');

/** `url` is that of the request line; `chains` are the names of those that are served. */
export function unknownPathText(url: string, chains: readonly string[], start = 'There is nothing at this path.'): string {
  const path = withoutQuery(url);
  const words = tidy(path).split('/').slice(1);
  const served = `served: ${chains.join(', ')}`;
  const advice = words[0]?.toLowerCase() === 'hl' ? facadeAdvice(words, chains, served) : otherAdvice(path, words, chains, served);
  return `${start} ${advice}`;
}

function otherAdvice(path: string, words: readonly string[], chains: readonly string[], served: string): string {
  const [first = '', second = ''] = words;
  const last = words.at(-1) ?? '';
  const example = words.find((word) => chains.includes(word)) ?? chains[0] ?? '{chain}';
  if (FACADE_WORDS.has(last)) return `A Hyperliquid client has the base URL /hl/{chain}: ${last} is at /hl/${example}/${last}.`;
  if (first === 'v1' && second === '') return `The base URL of the native API ends with the chain: /v1/${example}; ${served}.`;
  if (first === 'v1' && tidy(path) !== path) return `Paths of the native API have single slashes and none at the end: ${tidy(path)}.`;
  if (last === 'ws' && second === example) return `${path} is a WebSocket: ask for an upgrade.`;
  if (last === 'ws') return `The stream of a Hyperliquid client is /hl/{chain}/ws, that of the native API /v1/{chain}/ws; ${served}.`;
  if (first === 'v1') return 'GET /docs lists every operation.';
  if (chains.includes(first)) return `The native API is at /v1/${first}, the facade for Hyperliquid clients at /hl/${first}.`;
  return `The native API is at /v1/{chain} (GET /docs describes it), the facade for Hyperliquid clients at /hl/{chain}; ${served}.`;
}

function facadeAdvice([first = '', chain = '', word = '']: readonly string[], chains: readonly string[], served: string): string {
  const example = chains[0] ?? '{chain}';
  if (first !== 'hl') return `Its beginning is written in small letters: /hl/${example}.`;
  if (chain === '' || chain === 'ws') return `The base URL of a Hyperliquid client ends with the chain: /hl/${example}; ${served}.`;
  if (!chains.includes(chain)) return `There is no chain "${chain}" here; ${served}.`;
  if (word === 'ws') return `/hl/${chain}/ws is a WebSocket: ask for an upgrade.`;
  return `/hl/${chain} is a base URL: POST /hl/${chain}/info and /hl/${chain}/exchange, WS /hl/${chain}/ws.`;
}
