import { READ_FUNCTIONS } from '../../core/chains/diamond-functions.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { agentTrader, done, newAgentTrader, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { facetsOf, setFacets, without } from '../harness/diamond/cut-diamond.js';
import { readyOf } from '../harness/venue/chain-facts.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway, whenReady, type SecondGateway } from '../harness/venue/second-gateway.js';
import { LIMIT, MARKET, tradingVenue } from '../harness/venue/trading-venue.js';
import type { Reply, TestVenue } from '../harness/venue/own-venue.js';

const SLUG = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let id: string;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue({ isOwn: true }));
  agent = await newAgentTrader(sandbox, chain);
  await agent.place(MARKET, 'filled');
  id = String((await agent.position())['id']);
});
afterAll(() => sandbox.stop());

const positions = () => agent.call('listPositions', 'GET', `/account/${agent.trader.account.address}/positions`);
const only = async (): Promise<Json> => {
  const { status, body } = await positions();
  if (status !== 200) throw new Error(JSON.stringify(body));
  const [found] = body['data'] as Json[];
  if (found === undefined) throw new Error('there is no position');
  return found;
};
/** Figures that do not change with the block: what the trade is, and where it is liquidated within a cent. */
const figures = ({ size, collateral, leverage, entryPrice, liquidationPrice }: Json) => ({
  ...{ size, collateral, leverage, entryPrice },
  liquidation: Math.round(Number(liquidationPrice)),
});

async function callOf({ url }: SecondGateway, path: string, init?: RequestInit): Promise<Reply> {
  const response = await fetch(`${url}${path}`, init);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** It comes back with a change that is logged, and so it is known at once. */
async function lacking(names: readonly (keyof typeof READ_FUNCTIONS)[], work: () => Promise<void>): Promise<void> {
  const facets = await facetsOf(chain);
  await setFacets(
    chain,
    without(
      facets,
      names.map((name) => READ_FUNCTIONS[name]),
    ),
    false,
  );
  try {
    await work();
  } finally {
    await setFacets(chain, facets, true);
    await eventually(
      async () => (await readyOf(sandbox)).chains[SLUG]?.notes,
      (notes) => notes?.length === 0,
    );
  }
}

/** One at a time, as an upgrade takes them away. */
const REPLACED = [
  'getTrades',
  'getTradeInfos',
  'getTradesLiquidationParams',
  'getTradeFeesDataArray',
  'getTradeUiRealizedPnlDataArray',
  'getPairFundingFeeData',
  'getPairBorrowingFeeData',
  'getPairOisAfterV10Token',
  'pairSpreadPArray',
] as const;

describe('a position while the contract lacks a read function', () => {
  it.each(REPLACED)('%s is listed with the same figures, and `/ready` notes it', async (name) => {
    const before = figures(await only());
    await lacking([name], async () => {
      expect(figures(await only())).toEqual(before);
      const notes = await eventually(
        async () => {
          await positions();
          return (await readyOf(sandbox)).chains[SLUG]?.notes ?? [];
        },
        (found) => found.some((note) => note.includes(name)),
      );
      expect(notes).toContainEqual(expect.stringMatching(new RegExp(`${name}.*takes its place$`)));
    });
  });

  it('is not listed with a liquidation price that would be false, and can still be closed', async () => {
    await lacking(['getTradesLiquidationParams'], async () => {
      const other = await startSecondGateway(sandbox);
      try {
        await whenReady(other);
        const there = agentTrader({ ...sandbox, call: (path, init) => callOf(other, path, init) }, chain, agent.trader, agent.wallet);
        // This one never read the trade, so that there is no last value.
        const { body, status } = await there.call('listPositions', 'GET', `/account/${agent.trader.account.address}/positions`);
        expect([[status, body['code']], body['message']]).toEqual([
          [503, 'NOT_READY'],
          expect.stringContaining('getTradesLiquidationParams'),
        ]);
        expect((await there.close(id)).status).toBe(200);
      } finally {
        await other.stop();
      }
    });
    expect(refusal(await positions())).toEqual([200, undefined]);
  });
});

describe('an account while the contract lacks a read function', () => {
  const account = () => agent.call('getAccount', 'GET', `/account/${agent.trader.account.address}`);
  const held = async () => {
    const { status, body } = await account();
    return [status, (body['balances'] as Json[] | undefined)?.map(({ collateral, inOrders }) => [collateral, inOrders])];
  };
  const state = async () => {
    const body = JSON.stringify({ type: 'clearinghouseState', user: agent.trader.account.address });
    return fetch(`${sandbox.url}/hl/${SLUG}/info`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  };
  const worth = async () => {
    const reply = await state();
    const body = await reply.json();
    return [reply.status, Math.round(Number((body as { marginSummary?: { accountValue?: string } }).marginSummary?.accountValue) / 10)];
  };

  beforeAll(async () => {
    if ((await agent.positions()).length === 0) await agent.place(MARKET, 'filled');
    await agent.place(LIMIT, 'open');
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { transaction } = done(await agent.create(MARKET));
    if (transaction === null) throw new Error('there is nothing to send');
    await agent.send(transaction);
  });
  afterAll(() => chain.setOraclePolicy(null, { mode: 'auto', delayMs: 10 }));

  it.each(['getTrades', 'getPendingOrders'] as const)('%s has the same sums on both front ends, and `/ready` notes it', async (name) => {
    const before = [await held(), await worth()];
    expect(before.map(([status]) => status)).toEqual([200, 200]);
    await lacking([name], async () => {
      expect([await held(), await worth()]).toEqual(before);
      const notes = await eventually(
        async () => {
          await account();
          return (await readyOf(sandbox)).chains[SLUG]?.notes ?? [];
        },
        (found) => found.some((note) => note.includes(name)),
      );
      expect(notes).toContainEqual(expect.stringMatching(new RegExp(`${name}.*takes its place$`)));
    });
  });

  it.each(['getTrades', 'getPendingOrders'] as const)('%s is refused where nothing takes its place', async (name) => {
    await lacking([name, 'getCounters'], async () => {
      const { status, body } = await account();
      expect([status, body['code'], body['message']]).toEqual([503, 'NOT_READY', expect.stringContaining('getPendingOrders')]);
      expect((await state()).status).toBe(503);
    });
  });
});
