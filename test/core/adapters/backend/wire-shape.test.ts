import { createConfigState } from '../../../../core/adapters/backend/config-state.js';
import { ShapeError } from '../../../../core/adapters/backend/wire.js';
import { WIRE_KEYS } from '../../../../core/adapters/backend/sections.js';
import { TRADING_VARIABLES_SHAPE, type WireShape } from '../../../../core/adapters/backend/wire-shape.js';
import { compareShape } from '../../../../app/probe/probe-backend.js';
import { tradingVariables, type Wire } from './wire-fixtures.js';

const NOW = Date.UTC(2026, 0, 6, 15, 1);

type Path = readonly (string | number)[];

/** Where every leaf of the shape is in a real answer: the first element of a list, the first entry of a map. */
function leaves(shape: WireShape, value: unknown, at: Path = []): { used: Path[]; also: Path[] } {
  if ('kind' in shape) return { used: [at], also: [] };
  const [first] = Object.keys(value as object);
  if ('list' in shape) return leaves(shape.list, (value as unknown[])[0], [...at, 0]);
  if ('values' in shape) return first === undefined ? { used: [], also: [] } : leaves(shape.values, (value as Wire)[first], [...at, first]);
  const below = Object.entries(shape.fields).map(([name, one]) => leaves(one, (value as Wire)[name], [...at, name]));
  return {
    used: below.flatMap(({ used }) => used),
    also: [...below.flatMap(({ also }) => also), ...shape.also.map((name) => [...at, name])],
  };
}

/** A copy with another value at one place. */
function changed(value: unknown, [head, ...rest]: Path, to: unknown): unknown {
  if (head === undefined) return to;
  if (Array.isArray(value)) return value.map((one: unknown, at) => (at === head ? changed(one, rest, to) : one));
  return { ...(value as Wire), [head]: changed((value as Wire)[head], rest, to) };
}

/** What the parser makes of it: all it read, and how much it could not. */
function read(snapshot: unknown): unknown {
  const state = createConfigState(() => true);
  try {
    return { problems: state.replace(snapshot, NOW)?.count, config: state.config() };
  } catch (error) {
    if (error instanceof ShapeError) return 'refused';
    throw error;
  }
}

const good = tradingVariables({ lastRefreshed: NOW - 1_000 });
const asRead = read(good);
const { used, also } = leaves(TRADING_VARIABLES_SHAPE, good);
const named = (paths: readonly Path[]): [string, Path][] => paths.map((path) => [path.join('.'), path]);

describe('the shape that answers are held against', () => {
  it('is that of the keys the parser asks for, and of an answer it can read', () => {
    expect('fields' in TRADING_VARIABLES_SHAPE && Object.keys(TRADING_VARIABLES_SHAPE.fields).sort()).toEqual([...WIRE_KEYS].sort());
    expect(compareShape(TRADING_VARIABLES_SHAPE, { ...good, currentBlock: undefined })).toEqual({
      missing: [],
      changed: [],
      unknown: ['currentBlock'],
    });
  });

  it.each(named(used))('says of %s what the parser says: it cannot be of another kind', (_, path) => {
    const odd = changed(good, path, { of: ['another kind'] });
    expect(read(odd)).not.toEqual(asRead);
    expect(compareShape(TRADING_VARIABLES_SHAPE, odd).changed).toEqual([expect.stringContaining('object instead of')]);
  });

  it.each(named(also))('knows %s, which the parser does not care for', (_, path) => {
    const odd = changed(good, path, { of: ['another kind'] });
    expect(read(odd)).toEqual(asRead);
    expect(compareShape(TRADING_VARIABLES_SHAPE, odd)).toMatchObject({ missing: [], changed: [] });
  });

  it('names what is missing by its path, once, with how often', () => {
    const bare = (good['collaterals'] as Wire[]).map((one) => ({ ...one, pairOis: [{ beforeV10: {} }, { beforeV10: {} }] }));
    const { missing } = compareShape(TRADING_VARIABLES_SHAPE, { ...good, collaterals: bare, fees: undefined });
    expect(missing).toEqual([
      'fees',
      'collaterals[].pairOis[].beforeV10.long (6 times)',
      'collaterals[].pairOis[].beforeV10.short (6 times)',
      'collaterals[].pairOis[].beforeV10.max (6 times)',
      'collaterals[].pairOis[].collateral (6 times)',
      'collaterals[].pairOis[].token (6 times)',
    ]);
  });

  it.each([[null], [[]], ['text'], [5]])('says of %j that it is no answer', (body) => {
    expect(compareShape(TRADING_VARIABLES_SHAPE, body).changed).toEqual([expect.stringMatching(/^the answer: \w+ instead of object$/)]);
  });

  it('shows no name that could write on a screen what it likes', () => {
    const { unknown } = compareShape(TRADING_VARIABLES_SHAPE, { ...good, '\u001b[2J': 1, ['x'.repeat(500)]: 1 });
    expect(unknown).toEqual(['currentBlock', '? (2 times)']);
  });
});
