import type { Row } from './schema.js';

type Contents = ReadonlyMap<string, readonly Row[]>;

/** Every row is there as it was; columns and rows may have been added. */
export function expectKept(before: Contents, after: Contents): void {
  for (const [table, rows] of before) {
    const [first] = rows;
    if (!first) continue;
    const names = Object.keys(first);
    const known = new Set((after.get(table) ?? []).map((row) => JSON.stringify(names.map((name) => row[name]))));
    const lost = rows.filter((row) => !known.has(JSON.stringify(names.map((name) => row[name]))));
    expect({ table, lost }).toEqual({ table, lost: [] });
  }
}
