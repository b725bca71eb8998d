/** Commands of a page of the documentation, and what they print: what `npm run test:readme` follows. CONTRIBUTING.md describes the marks. */
export interface Block {
  /** Number of the fence's line, for complaints. */
  readonly line: number;
  readonly code: string;
  /** `background` goes on until the page ends; `skip` is for machines that have more than Node. */
  readonly manner: 'run' | 'background' | 'skip';
  /** What it prints, from the `text` block behind it; null where the page shows nothing. */
  readonly prints: string | null;
}

interface Fence {
  readonly line: number;
  readonly words: readonly string[];
  readonly text: string;
}

function fencesOf(page: string): Fence[] {
  const fences: Fence[] = [];
  let open: { line: number; words: string[]; rows: string[] } | null = null;
  page.split('\n').forEach((row, at) => {
    const [, info] = /^```(.*)$/.exec(row) ?? [];
    if (open !== null && info === '') {
      fences.push({ line: open.line, words: open.words, text: open.rows.join('\n') });
      open = null;
    } else if (open !== null) open.rows.push(row);
    else if (info !== undefined) open = { line: at + 1, words: info.trim().split(/\s+/), rows: [] };
  });
  return fences;
}

const MANNERS: ReadonlySet<string> = new Set(['run', 'background', 'skip']);
const isManner = (word: string): word is Block['manner'] => MANNERS.has(word);

export function blocksOf(page: string): Block[] {
  const fences = fencesOf(page);
  return fences.flatMap(({ line, words: [language, manner = 'run'], text }, at) => {
    if (language !== 'sh') return [];
    if (!isManner(manner)) throw new Error(`line ${line}: a block of sh is run, background or skip, not "${manner}"`);
    const next = fences[at + 1];
    return [{ line, code: text, manner, prints: next?.words[0] === 'text' ? next.text : null }];
  });
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
/** `…` stands for any text of its line; a line that holds nothing else stands for any lines, or none. */
const patternOf = (row: string): string => (row.trim() === '…' ? '(?:.*\n)*?' : `${row.trimEnd().split('…').map(escape).join('.*')} *\n`);

const tidy = (text: string): string =>
  `${text
    .replaceAll('\r', '')
    .replace(/^\s*\n/, '')
    .trimEnd()}\n`;

export function isPrinted(expected: string, actual: string): boolean {
  const rows = tidy(expected).split('\n').slice(0, -1);
  return new RegExp(`^${rows.map(patternOf).join('')}$`).test(tidy(actual));
}
