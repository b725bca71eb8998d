import type { ChainCursor, Checkpoint } from '../../../core/ports/stores/tracking.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

/** Blocks in which nothing happened move the cursor by one statement, which must be safe against other replicas that move it. */

const CHAIN = 'base';
let replicas: Replicas;
let stores: Replicas['stores'];

beforeAll(async () => {
  replicas = await openReplicas();
  ({ stores } = replicas);
});
afterAll(() => replicas.close());

/** A block of a branch. */
const block = (number: number, branch = 'a'): Checkpoint => ({
  number: BigInt(number),
  hash: `0x${branch.repeat(4)}${String(number).padStart(60, '0')}`,
});
const at = (number: number, branch?: string): ChainCursor => ({ startBlock: 1n, ...block(number, branch) });
const begin = (number: number) =>
  stores[0].tracking.change(CHAIN, async (unit) => {
    await unit.cursor();
    unit.setCursor(at(number));
  });
/** Nothing waits below block 0. */
const pass = (by: 0 | 1, from: ChainCursor, to: Checkpoint, passed: readonly Checkpoint[]) =>
  stores[by].tracking.pass(CHAIN, from, to, passed, 0n);
const NOTHING_WAITS = { unanswered: false, sent: false };
const storedCursor = () => stores[1].tracking.cursor(CHAIN);
const passedBelow = (number: number) => stores[1].tracking.checkpoints(CHAIN, BigInt(number), 3);

describe('a cursor that passes quiet blocks', () => {
  it('is moved by one of two replicas that are at the same block', async () => {
    await begin(10);
    const moves = await Promise.all(([0, 1] as const).map((by) => pass(by, at(10), block(12), [block(11), block(12)])));
    expect(moves.filter((moved) => moved !== null)).toEqual([NOTHING_WAITS]);
    expect(await storedCursor()).toEqual(at(12));
    expect(await passedBelow(20)).toEqual([block(12), block(11), block(10)]);
  });

  it('is not moved by a replica on a block of another branch, and nothing of that branch is stored', async () => {
    await begin(10);
    expect(await pass(1, at(10, 'b'), block(11, 'b'), [block(11, 'b')])).toBeNull();
    expect(await storedCursor()).toEqual(at(10));
    expect((await passedBelow(20))[0]).toEqual(block(10));
  });

  it('waits for a transaction that takes blocks back, and does not go on from a removed block', async () => {
    await begin(10);
    expect(await pass(0, at(10), block(12), [block(11), block(12)])).toEqual(NOTHING_WAITS);
    const late: ReturnType<typeof pass>[] = [];
    await stores[0].tracking.change(CHAIN, async (unit) => {
      await unit.cursor();
      late.push(pass(1, at(12), block(13), [block(13)]));
      unit.setCursor(at(10));
    });
    expect(await Promise.all(late)).toEqual([null]);
    expect(await storedCursor()).toEqual(at(10));
    expect((await passedBelow(20))[0]).toEqual(block(10));
    expect(await pass(1, at(10), block(11, 'b'), [block(11, 'b')])).toEqual(NOTHING_WAITS);
    expect((await passedBelow(20)).slice(0, 2)).toEqual([block(11, 'b'), block(10)]);
  });
});
