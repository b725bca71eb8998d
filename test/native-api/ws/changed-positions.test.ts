import type { ChainControls } from '../../../sandbox/controls.js';
import { hlSocket } from '../../harness/hyperliquid/socket.js';
import { eventually } from '../../harness/time/eventually.js';
import { done, newAgentTrader, prepared, type AgentTrader, type Json } from '../../harness/traders/agent-trader.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { MARKET, tradingVenue } from '../../harness/venue/trading-venue.js';
import { connect, isData, isOp, wsAuth, type SocketClient } from './socket-client.js';

let sandbox: TestVenue;
let chain: ChainControls;
beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
});
afterAll(async () => {
  sandbox.controls.prices.jump(0, '60000');
  await sandbox.stop();
});

interface Update {
  readonly order: { readonly oid: number };
  readonly status: string;
}
interface Fills {
  readonly isSnapshot?: boolean;
  readonly fills: readonly { readonly oid: number; readonly dir: string; readonly sz: string }[];
}

async function subscribed(agent: AgentTrader): Promise<SocketClient> {
  const client = await connect(sandbox.url);
  await client.ask(await wsAuth(agent.wallet, chain.definition), isOp('authenticated'));
  for (const channel of ['orders', 'fills', 'positions']) await client.ask({ op: 'subscribe', channel }, isData(channel));
  return client;
}

async function sent(agent: AgentTrader, body: Json): Promise<string> {
  const answer = await agent.adjust(String((await agent.position())['id']), body);
  await agent.send(prepared(answer));
  const id = String(done(answer).order['id']);
  await agent.reaches(id, 'filled');
  return id;
}

it('subscribers of both APIs receive an increase as an order and a fill, and a withdrawal of profit as no fill', async () => {
  const agent = await newAgentTrader(sandbox, chain);
  await agent.place(MARKET, 'filled');
  const [client, socket] = [await subscribed(agent), await hlSocket(sandbox.url)];
  const user = agent.trader.account.address;
  for (const type of ['orderUpdates', 'userFills']) await socket.subscribe(type, { user });
  const live = (channel: string): Json[] =>
    client.of(channel).flatMap(({ snapshot, data }) => (snapshot === false ? [data as Json | Json[]].flat() : []));
  const ordersOf = (id: string) => live('orders').filter((order) => order['id'] === id);
  const actions = () => live('fills').map(({ action }) => action);
  const updates = () => socket.of<Update[]>('orderUpdates').flat();
  const shownFills = () => socket.of<Fills>('userFills').flatMap(({ isSnapshot, fills }) => (isSnapshot === true ? [] : fills));

  const increase = await sent(agent, { increase: { size: '0.01' } });
  await eventually(actions, ({ length }) => length === 1);
  expect(ordersOf(increase).map(({ status }) => status)).toEqual(['prepared', 'pending', 'filled']);
  expect(live('fills')).toMatchObject([{ action: 'increase', market: 'BTC/USD', side: 'long' }]);
  expect(Number(live('fills')[0]?.['size'])).toBeCloseTo(0.01, 4);
  await eventually(
    () => live('positions').map(({ size }) => Number(size)),
    (sizes) => sizes.some((size) => Math.abs(size - 0.03) < 1e-4),
  );
  await eventually(shownFills, ({ length }) => length === 1);
  expect(shownFills()).toMatchObject([{ oid: Number(increase), dir: 'Open Long' }]);
  expect(
    updates()
      .filter(({ order }) => order.oid === Number(increase))
      .map(({ status }) => status),
  ).toEqual(['open', 'filled']);

  sandbox.controls.prices.jump(0, '63000');
  const [before, known] = [shownFills().length, updates().length];
  const withdrawal = await sent(agent, { withdrawPnl: { amount: '5' } });
  await eventually(
    () => ordersOf(withdrawal).map(({ status }) => status),
    (statuses) => statuses.includes('filled'),
  );
  expect(ordersOf(withdrawal).map(({ status }) => status)).toEqual(['prepared', 'pending', 'filled']);
  // A later order shows that nothing of the withdrawal is still to come.
  const after = await sent(agent, { increase: { size: '0.01' } });
  await eventually(shownFills, (fills) => fills.some(({ oid }) => oid === Number(after)));
  expect(actions()).toEqual(['increase', 'increase']);
  expect(
    shownFills()
      .slice(before)
      .map(({ oid }) => oid),
  ).toEqual([Number(after)]);
  expect(
    new Set(
      updates()
        .slice(known)
        .map(({ order }) => order.oid),
    ),
  ).toEqual(new Set([Number(after)]));
  await Promise.all([client.close(), socket.close()]);
});
