import { sharedStatement, translate, type ClientMessage } from './database-sessions.js';
import type { Frame } from './wire-messages.js';

const frame = (type: string, text = ''): Frame => ({ type, body: Buffer.from(text, 'latin1') });
const parse = (name: string, text: string): Frame => frame('P', `${name}\0${text}\0\0\0`);
const bind = (name: string): Frame => frame('B', `\0${name}\0\0\0\0\0`);
const EXECUTE = frame('E', '\0\0\0\0\0');
const SYNC = frame('S');
const answer = (types: string): Frame[] => types.split('').map((type) => frame(type));
const typesOf = (frames: readonly Frame[]): string => frames.map(({ type }) => type).join('');
const textOf = ({ body }: Frame): string => body.toString('latin1');

/** A statement of its own text in each test: texts are known to the whole process. */
let texts = 0;
const newText = (): string => `select ${(texts += 1)}`;

function twoOf(text: string): {
  readonly asked: readonly ClientMessage[];
  readonly again: readonly ClientMessage[];
  readonly name: string;
} {
  const shared = sharedStatement(parse('mine', text));
  if (shared === null) throw new Error('a named statement has no name');
  const bound = { frame: bind('mine'), shared };
  const rest = [{ frame: EXECUTE, shared: null }, ...[SYNC].map((each) => ({ frame: each, shared: null }))];
  return { asked: [{ frame: parse('mine', text), shared }, bound, ...rest], again: [bound, ...rest], name: shared.name };
}

it('prepares a text once in a session of the server, and answers a client that prepares it again', () => {
  const session = { prepared: new Set<string>() };
  const { asked, name } = twoOf(newText());
  const first = translate(asked, session);
  expect(typesOf(first.frames)).toBe('PBES');
  expect(first.frames.slice(0, 2).map(textOf)).toEqual([expect.stringContaining(`${name}\0`), expect.stringContaining(`\0${name}\0`)]);
  expect(typesOf(first.answerOf(answer('12DCZ')))).toBe('12DCZ');
  const second = translate(asked, session);
  expect(typesOf(second.frames)).toBe('BES');
  expect(typesOf(second.answerOf(answer('2DCZ')))).toBe('12DCZ');
});

it('prepares in another session what the client has prepared before, without an answer to the client', () => {
  const { again } = twoOf(newText());
  const other = translate(again, { prepared: new Set() });
  expect(typesOf(other.frames)).toBe('PBES');
  expect(typesOf(other.answerOf(answer('12DCZ')))).toBe('2DCZ');
});

it('does not count a text as prepared that the server refused', () => {
  const session = { prepared: new Set<string>() };
  const { asked } = twoOf(newText());
  expect(typesOf(translate(asked, session).answerOf(answer('EZ')))).toBe('EZ');
  expect(session.prepared.size).toBe(0);
});

it.each([
  ['the statement before fails', '2DEZ', '12DEZ'],
  ['it fails itself', '2DCEZ', '12DC1EZ'],
  ['both succeed', '2DC2DCZ', '12DC12DCZ'],
])('answers the second of two prepared statements as the server would where %s', (_case, received, given) => {
  const [one, two] = [twoOf(newText()), twoOf(newText())];
  const session = { prepared: new Set([one.name, two.name]) };
  const both = translate([...one.asked.slice(0, -1), ...two.asked], session);
  expect(typesOf(both.frames)).toBe('BEBES');
  expect(typesOf(both.answerOf(answer(received)))).toBe(given);
});

it('names a text without a name when it comes again', () => {
  const text = newText();
  expect(sharedStatement(parse('', text))).toBeNull();
  expect(sharedStatement(parse('', text))).not.toBeNull();
});
