import { createStore } from '../../../core/adapters/postgres/create-store.js';
import { venueOf, type Gateway } from '../../../core/gateway.js';
import { COUNTED_TOGETHER } from '../../../core/domain/trade-results.js';
import { applyFresh } from '../../../core/indexer/apply-events.js';
import { readFills } from '../../../facade/info/fills.js';
import { createUniverses } from '../../../facade/universe.js';
import { closesOf, USDC } from '../../harness/hyperliquid/many-closes.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { startOwnVenue } from '../../harness/venue/own-venue.js';

const SLUG = 'arbitrum-sepolia';
const TRADER = `0x${'9'.repeat(40)}` as const;
const PARTS = 2_500;

let sandbox: TestVenue;
beforeAll(async () => {
  sandbox = await startOwnVenue();
  const database = createStore({ url: sandbox.config.database.kind === 'server' ? sandbox.config.database.url : '', log: sandbox.log });
  const executions = closesOf(TRADER, PARTS);
  for (let at = 0; at < executions.length; at += 500)
    await sandbox.gateway.store.tracking.change(SLUG, (unit) => applyFresh(unit, executions.slice(at, at + 500)));
  // As the server does by itself after a while.
  await database.db.raw('analyze chain_events');
  await database.close();
});
afterAll(() => sandbox.stop());

/** The gateway, with how many executions were read for results. */
function counted(gateway: Gateway): { readonly gateway: Gateway; readonly read: number[] } {
  const read: number[] = [];
  const { history } = gateway.store.facade;
  const counting: typeof history = {
    ...history,
    async executionsOf(...asked) {
      const found = await history.executionsOf(...asked);
      read.push(found.length);
      return found;
    },
  };
  return { read, gateway: { ...gateway, store: { ...gateway.store, facade: { ...gateway.store.facade, history: counting } } } };
}

it('a fill of a trade with thousands of partial closes needs a bounded part of them, and is the same on every page', async () => {
  const venue = venueOf(sandbox.gateway, SLUG);
  const { gateway, read } = counted(sandbox.gateway);
  const universe = await createUniverses(gateway).of(venue);
  const account = { gateway, venue, universe, trader: TRADER };
  const page = (from: number, to: number) => readFills(account, { from, to, limit: 2_000, newestFirst: false });
  const last = await page(1_000 * PARTS, 1_000 * (PARTS + 2));
  expect(read).toEqual([COUNTED_TOGETHER]);
  const all = [...(await page(0, 1_500_999)), ...(await page(1_501_000, 1_000 * (PARTS + 2)))];
  expect(Math.max(...read)).toBe(COUNTED_TOGETHER);
  expect(all).toHaveLength(PARTS + 1);
  expect(all.slice(-last.length).map(({ wire }) => wire)).toEqual(last.map(({ wire }) => wire));
  const net = all.reduce((sum, { wire: { closedPnl, fee } }) => sum + Number(closedPnl) - Number(fee), 0);
  const cash = closesOf(TRADER, PARTS).reduce((sum, { netPnl }) => sum + netPnl, 0n);
  expect(net).toBeCloseTo(Number(cash) / Number(USDC), 2);
});
