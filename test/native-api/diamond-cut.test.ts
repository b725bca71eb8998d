import { Wallet } from 'ethers';
import { WRITE_FUNCTIONS } from '../../core/chains/diamond-functions.js';
import { venueOf } from '../../core/gateway.js';
import { identificationOf } from '../../core/indexer/identify.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { facetsOf, setFacets, without, type Facet } from '../harness/diamond/cut-diamond.js';
import { order as orderOf, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { newAgentTrader, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { readyOf } from '../harness/venue/chain-facts.js';
import { startSecondGateway, whenReady } from '../harness/venue/second-gateway.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';
import type { TestVenue } from '../harness/venue/own-venue.js';

const SLUG = 'arbitrum-sepolia';
const UPDATE_LEVERAGE = '0x0bce9aaa';
const WITHDRAW_PNL = WRITE_FUNCTIONS.withdrawPositivePnl.selector;
let sandbox: TestVenue;
let chain: ChainControls;
let facets: readonly Facet[];
let agent: AgentTrader;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue({ isOwn: true }));
  facets = await facetsOf(chain);
  agent = await newAgentTrader(sandbox, chain);
});
afterAll(() => sandbox.stop());

const state = () => venueOf(sandbox.gateway, SLUG).state;

const asOperator = async (path: string, body: Json): Promise<Json> => {
  const headers = { Authorization: `Bearer ${sandbox.config.operator.token?.() ?? ''}`, 'Content-Type': 'application/json' };
  return (await (await fetch(`${sandbox.url}/relayer${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Json;
};

/** The newest change is known, and the checks after it are done. */
const whenChecked = (before: bigint | null) =>
  eventually(
    () => state(),
    ({ contract, checked }) =>
      contract !== null && contract.cut !== before && checked?.cut === contract.cut && checked.block >= (contract.cut ?? 0n),
  );

/** Changes the facets, and resolves when that is known and checked. */
async function cut(next: readonly Facet[]): Promise<void> {
  const before = state().contract?.cut ?? null;
  await setFacets(chain, next, true);
  await whenChecked(before);
}

const buy = orderOf({ a: 0, b: true, p: '63000', s: '0.02', r: false, t: { limit: { tif: 'Ioc' } } });

describe('after the facets of the contract changed', () => {
  it('the checks run by themselves, and positions are opened again when they agree', async () => {
    await cut(facets);
    expect(state().checked?.findings).toEqual([]);
    expect(await agent.place(MARKET, 'filled')).toMatchObject({ status: 'filled' });
  });

  it('what differs later is not the change that agreed', async () => {
    await eventually(
      () => state().contract,
      (contract) => contract !== null && contract.cut !== null && contract.accepted?.upTo === contract.cut,
    );
    await setFacets(chain, without(facets, [WITHDRAW_PNL]), false);
    try {
      await chain.mine(1);
      await identificationOf(sandbox.gateway, venueOf(sandbox.gateway, SLUG)).now();
      expect(state().checked?.findings).toEqual([expect.stringContaining('withdrawPositivePnl')]);
      expect((await agent.create(MARKET)).status).toBe(201);
    } finally {
      await setFacets(chain, facets, false);
      await identificationOf(sandbox.gateway, venueOf(sandbox.gateway, SLUG)).now();
    }
  });

  it('positions stay closed to openings while the contract differs, until the operator accepts it; closing goes on', async () => {
    const bot = await newFacadeTrader(sandbox);
    await cut(without(facets, [UPDATE_LEVERAGE]));
    const refused = await agent.create(MARKET);
    expect([refusal(refused), refused.body['message']]).toEqual([[503, 'NOT_READY'], expect.stringContaining('updateLeverage')]);
    const send = async () =>
      JSON.stringify(
        (await postExchange(sandbox.url, SLUG, await signL1(new Wallet(bot.agentKey), { type: 'order', orders: [buy], grouping: 'na' })))
          .body,
      );
    expect(await send()).toContain('Trading is halted. Nothing is opened now: ');
    expect((await agent.close(String((await agent.position())['id']))).status).toBe(200);

    // A gateway that starts now learns it from the database, and checks for itself.
    const other = await startSecondGateway(sandbox);
    try {
      await whenReady(other);
      const found = await eventually(
        () => venueOf(other.gateway, SLUG).state,
        ({ checked, contract }) => contract !== null && checked?.cut === contract.cut,
      );
      expect(found.checked?.findings).toEqual([expect.stringContaining('updateLeverage')]);
    } finally {
      await other.stop();
    }

    expect(await asOperator('/contract/accept', { chain: SLUG, reason: 'no one changes leverage' })).toMatchObject({
      chains: [{ halt: null, openFindings: [], findings: [expect.stringContaining('updateLeverage')] }],
    });
    expect((await agent.create(MARKET)).status).toBe(201);
    expect(await send()).toContain('filled');
    await cut(facets);
  });

  it('a reorganisation takes the change back, and the contract is checked again', async () => {
    const before = state().contract?.cut ?? null;
    await cut(without(facets, [UPDATE_LEVERAGE]));
    await chain.pauseMining(true);
    const head = BigInt(String(await chain.request('eth_blockNumber', [])));
    await chain.reorg(Number(head - (state().contract?.cut ?? 0n)) + 1, true);
    await chain.pauseMining(false);
    await eventually(
      () => state(),
      ({ contract, checked, facts }) => contract?.cut === before && checked?.cut === before && facts?.missing?.length === 0,
    );
    expect((await agent.create(MARKET)).status).toBe(201);
  });
});

describe('a function that is gone without an event', () => {
  it('is noticed with the first call that needs it', async () => {
    await agent.place(MARKET, 'filled');
    const position = String((await agent.positions())[0]?.['id']);
    await setFacets(chain, without(facets, [UPDATE_LEVERAGE]), false);
    try {
      await chain.mine(2);
      const refused = await agent.adjust(position, { leverage: '5' });
      expect([refusal(refused), refused.body['message']]).toEqual([
        [422, 'UNSUPPORTED'],
        `The contracts on ${SLUG} do not serve updateLeverage, which this needs.`,
      ]);
      expect((await readyOf(sandbox)).chains[SLUG]?.notes).toEqual([expect.stringContaining('updateLeverage')]);
    } finally {
      await setFacets(chain, facets, false);
    }
  });
});
