import { CANCEL_REASONS, ORDER_REASONS } from '../../core/domain/order.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { operatorOf } from '../harness/venue/operator.js';
import { controlCall, tokenCall } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { setClassOpen } from '../harness/venue/market-hours.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { movesOf, eventsAfter } from './journal-events.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

/** Every reason of the interface, answered to an agent that signed and broadcast the order itself. */

/** The number of the contract for each reason it can have; one that clients know no name of is OTHER. */
const REFUSALS = [
  ...ORDER_REASONS.filter((reason) => reason !== 'NONE' && reason !== 'OTHER').map((reason) => [reason, CANCEL_REASONS.indexOf(reason)]),
  ['OTHER', CANCEL_REASONS.indexOf('COUNTER_TRADE_CANCELED')],
  ['OTHER', CANCEL_REASONS.length],
] as [string, number][];

/** One that has a name and one that has none go the whole way; all of them are in core/domain/order-machine.test.ts, and go it in `npm run test:slow`. */
const TESTED =
  process.env['SLOW_TESTS'] === '1' ? REFUSALS : REFUSALS.filter(([reason], at) => reason === 'SLIPPAGE' || at === REFUSALS.length - 1);

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain);
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const idOf = (order: Json): string => String(order['id']);

describe('the reason', () => {
  it.each(TESTED)('%s (%i of the contract) is reported when the contracts refuse with it', async (reason, number) => {
    chain.setOraclePolicy(null, { mode: 'reject', reason: number });
    const order = await agent.place(MARKET, 'rejected');
    expect(order).toMatchObject({ reason, fill: null });
    expect(movesOf(await eventsAfter(agent, 0), idOf(order))).toEqual(['- → prepared', 'prepared → pending', 'pending → rejected']);
    await viewEqualsChain();
  });

  it('NONE is no refusal: the contracts do not take it for one, and the order goes on waiting', async () => {
    chain.setOraclePolicy(null, { mode: 'hold' });
    const id = idOf(await agent.place(MARKET, 'pending'));
    const operator = operatorOf(chain);
    const index = (await agent.trader.event('MarketOrderInitiated'))['orderId'] as { user: `0x${string}`; index: number };
    const answer = controlCall('sandboxRejectAt', [index, CANCEL_REASONS.indexOf('NONE'), 60_000n * 10n ** 10n]);
    await expect(operator.send(answer)).rejects.toThrow(/revert/i);
    await viewEqualsChain();
    expect(await agent.order(id)).toMatchObject({ status: 'pending', reason: null });
    chain.setOraclePolicy(null, { mode: 'auto' });
    expect(await agent.reaches(id, 'filled')).toMatchObject({ reason: null });
    await viewEqualsChain();
  });

  it('OTHER is reported for a transaction that failed, also while the market was closed: the contracts know no hours', async () => {
    const eur =
      sandbox.gateway.venues
        .get(chain.definition.slug)
        ?.feed.config()
        .pairs.findIndex((pair) => pair?.from === 'EUR') ?? -1;
    const becomes = async (isOpen: boolean): Promise<void> => {
      setClassOpen(sandbox, eur, isOpen);
      await eventually(
        () => sandbox.get(`/v1/${chain.definition.slug}/markets/EUR-USD`),
        ({ body }) => (body as { isOpen: boolean }).isOpen === isOpen,
      );
    };
    const usdc = chain.collaterals.find(({ symbol }) => symbol === 'USDC')?.address ?? '0x';
    await becomes(true);
    const answer = await agent.create({ market: 'EUR/USD', side: 'long', type: 'market', size: '1000', leverage: '10' });
    await agent.trader.send(usdc, tokenCall('transfer', [agent.wallet.address as `0x${string}`, await agent.trader.usdc()]));
    await becomes(false);
    const hash = await agent.broadcast(prepared(answer));
    const { status } = await agent.trader.client.waitForTransactionReceipt({ hash });
    expect(status).toBe('reverted');
    const { body } = await agent.submit(idOf(done(answer).order), hash, 5);
    expect(body).toMatchObject({ status: 'rejected', reason: 'OTHER', txHash: hash });
    await viewEqualsChain();
  });
});
