import type { Operation } from './operation.js';

/** Caches names by path; paths with ids are many, so a full cache is emptied instead of growing. */
const MOST_KEPT = 4_096;

/** Finds a request's operation by method and URL alone: replies that never reach the router are counted too. */
export function createOperationNamer(operations: readonly Operation[]): (method: string, url: string) => string {
  const rows = operations.map(({ id, method, scope, path }) => ({
    id,
    method,
    parts: `${scope === 'venue' ? '/v1/:chain' : ''}${path === '/' ? '' : path}`.split('/'),
  }));
  const known = new Map<string, string>();
  const find = (method: string, path: string): string => {
    const parts = path.split('/');
    const asked = method === 'HEAD' ? 'GET' : method;
    const row = rows.find((one) => one.method === asked && matches(one.parts, parts));
    return row?.id ?? 'other';
  };
  return (method, url) => {
    const end = url.indexOf('?');
    const path = end === -1 ? url : url.slice(0, end);
    const key = `${method} ${path}`;
    const kept = known.get(key);
    if (kept !== undefined) return kept;
    const name = find(method, path);
    if (known.size >= MOST_KEPT) known.clear();
    known.set(key, name);
    return name;
  };
}

const matches = (pattern: readonly string[], parts: readonly string[]): boolean =>
  pattern.length === parts.length && pattern.every((part, at) => (part.startsWith(':') ? parts[at] !== '' : part === parts[at]));
