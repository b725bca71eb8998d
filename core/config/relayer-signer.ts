import { chainVariable } from '../chains/chains.js';
import type { Address } from '../types.js';
import { hasUserInfo } from './source.js';
import { secretOf, type KeyParts } from './relayer-keys.js';

/** A remote signer over HTTP. */
export interface SignerConfig {
  /** A function, because the path may be a secret. */
  readonly url: () => string;
  /** Null: none is required. */
  readonly token: (() => string) | null;
  /** Configured and not requested, so that an attacker who controls the signer cannot add wallets. */
  readonly wallets: readonly Address[];
}

const ADDRESS = /^0x[0-9a-f]{40}$/;
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export function readSigner(parts: KeyParts): SignerConfig | null {
  const { slug, source, warnings } = parts;
  const { variables, problems } = source;
  const [urlName, walletsName] = [chainVariable('RELAYER_SIGNER_URL', slug), chainVariable('RELAYER_SIGNER_WALLETS', slug)];
  const [text, listed] = [variables[urlName], variables[walletsName]];
  const token = secretOf(parts, 'RELAYER_SIGNER_TOKEN');
  if (text === undefined) {
    if (source.isGiven(urlName)) return null;
    for (const name of [...(listed === undefined ? [] : [walletsName]), ...(token === null ? [] : [token.name])])
      problems.push(`${name} is set, but ${urlName} is not`);
    return null;
  }
  const url = httpUrl(text);
  if (url === null)
    problems.push(`${source.nameOf(urlName)} must be an http or https URL without user info, query and fragment: its token goes elsewhere`);
  else if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname))
    warnings.push(`${urlName} is not https: its token can be read on the network`);
  const wallets = (listed ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(isAddress);
  const isClean = wallets.length > 0 && wallets.join(',') === [...new Set(wallets)].join(',') && wallets.length === countOf(listed ?? '');
  if (!isClean) problems.push(`${walletsName} must be addresses separated by commas, none of them twice`);
  if (token !== null && !/^[\x21-\x7e]+$/.test(token.text)) problems.push(`${token.name} must be printable characters without a space`);
  return { url: () => text.replace(/\/+$/, ''), token: token && (() => token.text), wallets };
}

const isAddress = (text: string): text is Address => ADDRESS.test(text);
const countOf = (text: string): number => text.split(/[\s,]+/).filter((part) => part !== '').length;

function httpUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || hasUserInfo(url) || /[?#]/.test(text)) return null;
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : null;
}
