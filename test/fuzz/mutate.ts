import { gzipSync } from 'node:zlib';
import type { Random } from './random.js';
import { isObjectTree, isRawTree, writeTree, type Tree } from './tree.js';

/** Changes to well-formed inputs, each of a kind that has broken some server before. */

const LONG = 'x'.repeat(70_000);
/** What is put behind a text: each has the length or the letters of a pattern without being what it describes. */
export const TAILS = ['*', ' ', '\n', '\0', '0', 'g', 'é', '😀', '\ud800', '%', '/', '\u202e', '.eth'];
const ODD_NUMBERS = [
  'NaN',
  '-1',
  '-0',
  '1e308',
  '1E+400',
  '1e-400',
  '9007199254740993',
  '18446744073709551616',
  '00',
  '0x10',
  '1.0',
  '.5',
  '1e2',
  '-Infinity',
];
const PROTOTYPE_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'toJSON'];
const ODD_TEXTS = [
  '',
  'null',
  'NaN',
  'Infinity',
  '-1',
  '1e400',
  '0x',
  '__proto__',
  '\u0000',
  '\ud800',
  '\udfff\ud800',
  '\u202e\u2066',
  '😀'.repeat(40),
  'é'.repeat(300),
  "' or 1=1; --",
  '../../etc/passwd',
  '${7*7}',
  '9'.repeat(400),
  `0.${'0'.repeat(60)}1`,
  `0x${'f'.repeat(40)}*`,
  `0x${'F'.repeat(20)}${'a'.repeat(20)}*`,
  `0x${'f'.repeat(4_000)}`,
];

/** Around the depths where readers that recurse give up, and well beyond any limit they should have. */
const DEPTHS = [9, 33, 64, 500, 2_500, 5_000, 9_000];

function deep(random: Random): Tree {
  const depth = random.pick(DEPTHS);
  if (random.chance(0.6)) return { raw: `${'['.repeat(depth)}${']'.repeat(depth)}` };
  return { raw: `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}` };
}

export function oddTree(random: Random): Tree {
  const kind = random.int(0, 9);
  if (kind === 0) return null;
  if (kind === 1) return random.chance(0.5);
  if (kind === 2) return [];
  if (kind === 3) return { entries: [] };
  if (kind <= 6) return { raw: random.pick(ODD_NUMBERS) };
  if (kind <= 8) return random.pick(ODD_TEXTS);
  if (random.chance(0.3)) return deep(random);
  return random.chance(0.03) ? LONG : { raw: `"${'\\u0041'.repeat(random.int(1, 200))}"` };
}

interface Place {
  readonly get: () => Tree;
  readonly set: (tree: Tree) => void;
}

/** Every place of a tree that can be replaced. */
function placesOf(tree: Tree, into: Place[]): Place[] {
  if (Array.isArray(tree))
    tree.forEach((item, index) => {
      into.push({ get: () => tree[index] ?? null, set: (next) => void (tree[index] = next) });
      placesOf(item, into);
    });
  else if (tree !== null && typeof tree === 'object' && isObjectTree(tree))
    for (const entry of tree.entries) {
      into.push({ get: () => entry[1], set: (next) => void (entry[1] = next) });
      placesOf(entry[1], into);
    }
  return into;
}

function objectsOf(tree: Tree, into: { entries: [string, Tree][] }[] = []): { entries: [string, Tree][] }[] {
  if (Array.isArray(tree)) for (const item of tree) objectsOf(item, into);
  else if (tree !== null && typeof tree === 'object' && !isRawTree(tree)) {
    into.push(tree);
    for (const [, value] of tree.entries) objectsOf(value, into);
  }
  return into;
}

type Mutation = (tree: Tree, random: Random) => void;

const replaceOne: Mutation = (tree, random) => {
  const places = placesOf(tree, []);
  if (places.length > 0) random.pick(places).set(oddTree(random));
};

/** Every text of a tree, and how to change it. */
const textsOf = (tree: Tree): { readonly text: string; readonly set: (text: string) => void }[] =>
  placesOf(tree, []).flatMap(({ get, set }) => {
    const text = get();
    return typeof text === 'string' ? [{ text, set }] : [];
  });

const appendOne: Mutation = (tree, random) => {
  const texts = textsOf(tree);
  if (texts.length === 0) return;
  const { text, set } = random.pick(texts);
  set(random.chance(0.7) ? `${text}${random.pick(TAILS)}` : `${random.pick(TAILS)}${text}`);
};

/** In mixed case the letters of an address are its checksum. */
const changeCase: Mutation = (tree, random) => {
  const texts = textsOf(tree);
  if (texts.length === 0) return;
  const { text, set } = random.pick(texts);
  set(text.replace(/[a-z]/gi, (letter) => (random.chance(0.5) ? letter.toUpperCase() : letter.toLowerCase())));
};

const changeObject =
  (change: (entries: [string, Tree][], random: Random) => void): Mutation =>
  (tree, random) => {
    const objects = objectsOf(tree);
    if (objects.length > 0) change(random.pick(objects).entries, random);
  };

const dropField = changeObject((entries, random) => {
  if (entries.length > 0) entries.splice(random.int(0, entries.length - 1), 1);
});

const EXTRA_KEYS = ['x', 'fuzz', '', '😀', 'type', 'user', 'nonce'];
const addField = changeObject((entries, random) => void entries.push([random.pick(EXTRA_KEYS), oddTree(random)]));
const addDeep = changeObject((entries, random) => void entries.push(['x', deep(random)]));
const addPrototype = changeObject((entries, random) => void entries.push([random.pick(PROTOTYPE_KEYS), oddTree(random)]));
const doubleField = changeObject((entries, random) => {
  if (entries.length === 0) return;
  const [key] = random.pick(entries);
  entries.push([key, oddTree(random)]);
});

const repeatItem: Mutation = (tree, random) => {
  const arrays = placesOf(tree, [])
    .map(({ get }) => get())
    .filter((each) => Array.isArray(each) && each.length > 0) as Tree[][];
  if (arrays.length === 0) return;
  const array = random.pick(arrays);
  const item = random.pick(array);
  const times = random.pick([2, 5, 41, 201]);
  for (let index = 0; index < times; index += 1) array.push(item);
};

const MUTATIONS: readonly Mutation[] = [
  replaceOne,
  replaceOne,
  replaceOne,
  appendOne,
  appendOne,
  changeCase,
  dropField,
  addField,
  addDeep,
  addPrototype,
  doubleField,
  repeatItem,
];

/** Changes the tree in place, once or several times. */
export function mutateTree(tree: Tree, random: Random): void {
  const times = random.pick([1, 1, 1, 2, 3]);
  for (let index = 0; index < times; index += 1) random.pick(MUTATIONS)(tree, random);
}

const INVALID_UTF8 = [Buffer.of(0xff), Buffer.of(0xc3, 0x28), Buffer.of(0xed, 0xa0, 0x80), Buffer.of(0xf8, 0x88, 0x80, 0x80, 0x80)];

/** Changes the bytes of a text: what arrives is then no longer what was written. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  const at = random.int(0, bytes.length);
  switch (random.int(0, 7)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), random.pick(INVALID_UTF8), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes]);
    case 3:
      return Buffer.concat([bytes, Buffer.from(random.pick(['}', ' null', '\0', ',{}', '\n\n']))]);
    case 4: {
      const changed = Buffer.from(bytes);
      if (changed.length > 0) changed[Math.min(at, changed.length - 1)] = random.int(0, 255);
      return changed;
    }
    case 5:
      return Buffer.concat([Buffer.from('['), bytes, Buffer.from(']')]);
    case 6:
      return Buffer.concat([Buffer.alloc(random.int(1, 2_000), ' '), bytes]);
    default:
      return random.chance(0.1) ? bomb() : gzipSync(bytes);
  }
}

let packed: Buffer | null = null;
/** A few kilobytes that unpack to sixteen megabytes. */
export function bomb(): Buffer {
  packed ??= gzipSync(Buffer.alloc(16 * 1024 * 1024, 'a'));
  return packed;
}

/** A body: sometimes as it should be, mostly changed as a tree, sometimes as bytes too. */
export function bodyOf(tree: Tree, random: Random, changed = 0.8): Buffer {
  if (random.chance(changed)) mutateTree(tree, random);
  const bytes = Buffer.from(writeTree(tree));
  return random.chance(0.08) ? mutateBytes(bytes, random) : bytes;
}

/** A part of a path or a query, changed the same way and encoded, or not. */
export function mutateWord(word: string, random: Random): string {
  switch (random.int(0, 6)) {
    case 0:
      return `${word}${encodeURIComponent(random.pick(TAILS.filter((tail) => tail !== '\ud800')))}`;
    case 1:
      return encodeWord(random.pick(ODD_TEXTS));
    case 2:
      return random.pick(['%00', '%ff', '%', '%zz', '%2e%2e%2f', '%c0%af', '..', '.', '', '*', ';a=b', '%20', '+']);
    case 3:
      return `${word}${random.pick(['%00', '%ff', '*', '%', ';', '%0d%0a'])}`;
    case 4:
      return word.toUpperCase();
    case 5:
      return random.pick(ODD_NUMBERS);
    default:
      return word.slice(0, random.int(0, word.length));
  }
}

/** Half a surrogate pair has no encoding. */
export const encodeWord = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '')).slice(0, 4_000);
