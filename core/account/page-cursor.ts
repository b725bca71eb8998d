import { GatewayError } from '../errors.js';

/** The list and account a cursor is valid for. */
export interface PageScope {
  readonly kind: 'orders' | 'fills';
  readonly chain: string;
  readonly trader: string;
}

const FORM = /^[A-Za-z0-9_-]{1,200}$/;
/** Matches every id and block number, and nothing that the database would reject. */
const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

const prefixOf = ({ kind, chain, trader }: PageScope): string => `1.${kind}.${chain}.${trader}.`;

/** Opaque to clients, but not secret: it contains only values shown on the page. */
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
