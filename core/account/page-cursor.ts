import { GatewayError } from '../errors.js';

/** What a page of a list continues; a cursor fits only the list and the account it was made for. */
export interface PageScope {
  readonly kind: 'orders' | 'fills';
  readonly chain: string;
  readonly trader: string;
}

const FORM = /^[A-Za-z0-9_-]{1,200}$/;
/** Every id and block number of ours, and nothing that the database would refuse. */
const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

const prefixOf = ({ kind, chain, trader }: PageScope): string => `1.${kind}.${chain}.${trader}.`;

/** Opaque to clients, and no secret: it says nothing they do not see on the page. */
export const encodeCursor = (scope: PageScope, mark: readonly bigint[]): string => toBase64Url(prefixOf(scope) + mark.join('.'));

export function decodeCursor(scope: PageScope, cursor: string, parts: number): readonly bigint[] {
  const text = FORM.test(cursor) ? fromBase64Url(cursor) : null;
  const prefix = prefixOf(scope);
  const mark = text?.startsWith(prefix) ? text.slice(prefix.length).split('.') : [];
  if (mark.length !== parts || !mark.every((part) => NUMBER.test(part)) || toBase64Url(text ?? '') !== cursor)
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'cursor', message: 'is no cursor of this list' }] });
  return mark.map(BigInt);
}

const toBase64Url = (text: string): string => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

function fromBase64Url(text: string): string | null {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return null;
  }
}
