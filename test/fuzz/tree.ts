/**
 * JSON that can hold what no JavaScript value can: a key twice, a number in any spelling, nesting without end. `raw` is written as it is.
 */
export type Tree = null | boolean | number | string | Tree[] | ObjectTree | RawTree;

export interface ObjectTree {
  readonly entries: [string, Tree][];
}

export interface RawTree {
  readonly raw: string;
}

export const isObjectTree = (tree: Tree): tree is ObjectTree =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree) && 'entries' in tree;
export const isRawTree = (tree: Tree): tree is RawTree => typeof tree === 'object' && tree !== null && 'raw' in tree;

/** Of plain values as a schema's example has them; what JSON has no word for becomes null. */
export function treeOf(value: unknown): Tree {
  if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(treeOf);
  if (typeof value !== 'object') return null;
  return { entries: Object.entries(value).flatMap(([key, each]) => (each === undefined ? [] : [[key, treeOf(each)]])) };
}

export function writeTree(tree: Tree): string {
  if (Array.isArray(tree)) return `[${tree.map(writeTree).join(',')}]`;
  if (isRawTree(tree)) return tree.raw;
  if (tree !== null && isObjectTree(tree))
    return `{${tree.entries.map(([key, value]) => `${JSON.stringify(key)}:${writeTree(value)}`).join(',')}}`;
  return Object.is(tree, -0) ? '-0' : JSON.stringify(tree);
}

export const objectTree = (fields: Readonly<Record<string, Tree>>): ObjectTree => ({ entries: Object.entries(fields) });
