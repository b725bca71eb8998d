import { blocksOf, isPrinted } from '../../scripts/docs-blocks.js';

const page = [
  '# A page',
  '```sh background',
  'npm start',
  '```',
  'Then:',
  '```text',
  '…',
  'ready',
  '```',
  '```sh',
  'a',
  'b',
  '```',
  '```js',
  'x',
  '```',
];

describe('the blocks of a page', () => {
  it('are its commands, with what they print', () => {
    expect(blocksOf(page.join('\n'))).toEqual([
      { line: 2, code: 'npm start', manner: 'background', prints: '…\nready' },
      { line: 10, code: 'a\nb', manner: 'run', prints: null },
    ]);
  });

  it('have a manner that is known', () => {
    expect(() => blocksOf('```sh later\nx\n```')).toThrow('line 1: a block of sh is run, background or skip, not "later"');
  });
});

describe('what a command printed', () => {
  it.each([
    ['filled … at …', 'filled 0.5 at 3000.1\n', true],
    ['filled … at …', 'rejected\n', false],
    ['filled', 'filled\nand more\n', false],
    ['…\nready\n…', 'one\ntwo\nready\nmore\n', true],
    ['…\nready', 'ready', true],
    ['…\nready', 'ready\nmore', false],
    ['{"a":[1],…}', '\n{"a":[1],"b":2}\n\n', true],
    ['a.c', 'abc', false],
    ['  indented', '  indented  \n', true],
  ])('against %j: %j is %s', (expected, actual, isIt) => expect(isPrinted(expected, actual)).toBe(isIt));
});
