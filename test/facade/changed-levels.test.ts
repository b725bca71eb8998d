import { changeOf, jumpTo, LEVEL_PRICE, newLevelBot, stop, units, type LevelBot } from '../harness/traders/level-bot.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** Changes of a stop loss of which another order has replaced a part: it stays on its own trades. */
const X = `0x${'d1'.repeat(16)}`;
const Z = `0x${'d2'.repeat(16)}`;

let sandbox: TestVenue;

beforeAll(async () => {
  sandbox = await sharedVenue();
  await jumpTo(sandbox, LEVEL_PRICE);
});
afterAll(() => sandbox.stop());

/** A bot with two trades: X had both, Z has the first now. */
async function partlyReplaced(sizes: readonly [string, string], both: string): Promise<{ bot: LevelBot; x: number; z: number }> {
  const bot = await newLevelBot(sandbox);
  await bot.open(sizes[0], 1);
  await bot.open(sizes[1], 2);
  const x = await bot.place(stop('55000', both, X));
  const z = await bot.place(stop('56000', sizes[0], Z));
  expect(await bot.stops()).toEqual([units(56_000), units(55_000)]);
  return { bot, x, z };
}

describe('a change of a stop loss of which another order replaced a part', () => {
  it.each(['0.1', '0'])('of size %s changes the part that it still has', async (size) => {
    const { bot, x, z } = await partlyReplaced(['0.1', '0.1'], '0.2');
    expect(await bot.send(changeOf(x, stop('54000', size, X)))).toMatchObject([{ resting: { cloid: X } }]);
    await bot.isQuiet();
    expect(await bot.stops()).toEqual([units(56_000), units(54_000)]);
    expect(await bot.listed()).toMatchObject([
      { sz: '0.1', cloid: X, triggerPx: '54000.0' },
      { oid: z, sz: '0.1', cloid: Z },
    ]);
  });

  it('is refused for less than the trade that it still has, and changes nothing', async () => {
    const { bot, x, z } = await partlyReplaced(['0.1', '0.2'], '0.3');
    const [status] = await bot.send(changeOf(x, stop('54000', '0.1', X)));
    expect(status).toEqual({ error: expect.stringContaining('must cover whole trades') });
    expect(await bot.stops()).toEqual([units(56_000), units(55_000)]);
    expect((await bot.listed()).map(({ oid }) => oid)).toEqual([z, x]);
  });

  it('for the whole position takes it all', async () => {
    const { bot, x } = await partlyReplaced(['0.1', '0.1'], '0.2');
    expect(await bot.send(changeOf(x, stop('54000', '0.2', X)))).toMatchObject([{ resting: { cloid: X } }]);
    await bot.isQuiet();
    expect(await bot.stops()).toEqual([units(54_000), units(54_000)]);
    expect(await bot.listed()).toMatchObject([{ sz: '0.2', cloid: X }]);
  });
});
