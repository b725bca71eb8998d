import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json, type Prepared } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { operatorOf } from '../harness/venue/operator.js';
import { eventually } from '../harness/time/eventually.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { LIMIT, MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
/** Another trader with an agent of its own. */
let outsider: AgentTrader;

const UNKNOWN = `0x${'ab'.repeat(32)}`;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain);
  outsider = await newAgentTrader(sandbox, chain);
});
afterEach(async () => {
  await chain.pauseMining(false);
  chain.setOraclePolicy(null, { mode: 'auto' });
});
afterAll(() => sandbox.stop());

const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const idOf = (order: Json): string => String(order['id']);

async function create(body: Json = LIMIT): Promise<{ id: string; transaction: Prepared }> {
  const answer = await agent.create(body);
  return { id: idOf(done(answer).order), transaction: prepared(answer) };
}

const untilOpen = (wanted: boolean): Promise<unknown> =>
  eventually(
    () => sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`),
    ({ body }) => (body as { isOpen: boolean }).isOpen === wanted,
  );

describe('POST /orders/{id}/submit', () => {
  it('answers with the order after its event when the transaction is mined', async () => {
    const { id, transaction } = await create();
    const hash = await agent.send(transaction);
    const answer = await agent.submit(id, hash);
    expect([answer.status, answer.body]).toMatchObject([200, { id, status: 'open', txHash: hash, expiresAt: null }]);
    expect((await agent.submit(id, hash)).body).toEqual(answer.body);
    expect((await agent.submit(id, hash.toUpperCase().replace('0X', '0x'))).body).toEqual(answer.body);
    await viewEqualsChain();
  });

  it('stores a transaction that is not mined yet, and moves on when it is', async () => {
    await chain.pauseMining(true);
    const { id, transaction } = await create();
    const hash = await agent.broadcast(transaction);
    const first = await agent.submit(id, hash);
    expect(first.body).toMatchObject({ id, status: 'prepared', txHash: hash });
    expect((await agent.submit(id, hash)).body).toEqual(first.body);
    await chain.pauseMining(false);
    expect(await agent.reaches(id, 'open')).toMatchObject({ txHash: hash });
    await viewEqualsChain();
  });

  it('waits for the outcome when it is asked to', async () => {
    const { id, transaction } = await create(MARKET);
    const hash = await agent.broadcast(transaction);
    const answer = await agent.submit(id, hash, 8);
    expect(answer.body).toMatchObject({ id, status: 'filled', txHash: hash, fill: { size: expect.any(String) as string } });
    expect(answer.headers.get('preference-applied')).toBe('wait=8');
    await viewEqualsChain();
  });

  it('says what is known when the wait is over', async () => {
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { id, transaction } = await create(MARKET);
    const hash = await agent.send(transaction);
    expect((await agent.submit(id, hash, 1)).body).toMatchObject({ id, status: 'pending', txHash: hash });
    await viewEqualsChain();
  });

  it('stores a hash that no node knows, and takes the one that replaced it', async () => {
    const { id, transaction } = await create();
    expect((await agent.submit(id, UNKNOWN)).body).toMatchObject({ id, status: 'prepared', txHash: UNKNOWN });
    const hash = await agent.send(transaction);
    expect((await agent.submit(id, hash)).body).toMatchObject({ id, status: 'open', txHash: hash });
    expect((await agent.submit(id, UNKNOWN)).body).toMatchObject({ id, status: 'open', txHash: hash });
    await viewEqualsChain();
  });

  it('bounds how many hashes it stores for one order', async () => {
    const { id } = await create();
    for (let turn = 0; turn < 16; turn += 1) expect((await agent.submit(id, `0x${turn.toString(16).padStart(64, '0')}`)).status).toBe(200);
    expect(refusal(await agent.submit(id, UNKNOWN))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect((await agent.submit(id, `0x${'0'.repeat(64)}`)).status).toBe(200);
  });

  it('rejects the order when its transaction was mined and failed', async () => {
    const { id, transaction } = await create();
    // Sent by an account that is not the delegate, the same bytes revert.
    await chain.pauseMining(true);
    const { account, client } = outsider.trader;
    const serializedTransaction = await account.signTransaction({
      type: 'eip1559',
      to: transaction.to,
      data: transaction.data,
      chainId: transaction.chainId,
      nonce: await client.getTransactionCount({ address: account.address }),
      gas: BigInt(transaction.gas ?? 0),
      ...(await client.estimateFeesPerGas()),
    } as never);
    const hash = await client.sendRawTransaction({ serializedTransaction });
    await chain.pauseMining(false);
    await client.waitForTransactionReceipt({ hash });
    expect((await agent.submit(id, hash)).body).toMatchObject({ id, status: 'rejected', reason: 'OTHER', txHash: hash, expiresAt: null });
    await viewEqualsChain();
  });

  it('says PAUSED when the contracts were paused between preparing and sending', async () => {
    const { id, transaction } = await create();
    const operator = operatorOf(chain);
    await operator.control('sandboxSetTradingActivated', [2]);
    try {
      const hash = await agent.broadcast(transaction);
      await agent.trader.client.waitForTransactionReceipt({ hash });
      expect((await agent.submit(id, hash, 5)).body).toMatchObject({ id, status: 'rejected', reason: 'PAUSED', txHash: hash });
    } finally {
      // A pause that the gateway sees only after its end would close the market to the next test.
      await untilOpen(false);
      await operator.control('sandboxSetTradingActivated', [0]);
      await untilOpen(true);
    }
    await viewEqualsChain();
  });

  it.each([
    ['a transaction of another account', () => outsider.trader.open({ tradeType: 1 })],
    ['a transaction of the trader that is another order', () => agent.trader.open({ tradeType: 1, openPrice: 40_000n * 10n ** 10n })],
    ['a transaction that calls something else', () => agent.trader.send(agent.trader.account.address, '0x')],
    ['a failed transaction of another account', failedElsewhere],
  ])('refuses %s, mined, and stores nothing of it', async (_what, transaction) => {
    const { id } = await create();
    const hash = await transaction();
    const answer = await agent.submit(id, hash);
    expect([...refusal(answer), answer.body['details']]).toEqual([422, 'SUBMISSION_MISMATCH', { txHash: hash }]);
    expect(await agent.order(id)).toMatchObject({ status: 'prepared', txHash: null });
  });

  async function failedElsewhere(): Promise<`0x${string}`> {
    const { account, client } = outsider.trader;
    const fees = await client.estimateFeesPerGas();
    const serializedTransaction = await account.signTransaction({
      ...{ type: 'eip1559', to: chain.definition.diamond, data: '0x85886333', gas: 200_000n, nonce: await nonceOf(account.address) },
      ...{ chainId: chain.definition.chainId, ...fees },
    } as never);
    const hash = await client.sendRawTransaction({ serializedTransaction });
    await client.waitForTransactionReceipt({ hash });
    return hash;
  }

  const nonceOf = (address: `0x${string}`) => agent.trader.client.getTransactionCount({ address });

  it('refuses the transaction of another order of the same trader', async () => {
    const [one, two] = [await create(), await create()];
    const hash = await agent.send(one.transaction);
    expect(refusal(await agent.submit(two.id, hash))).toEqual([422, 'SUBMISSION_MISMATCH']);
    expect((await agent.submit(one.id, hash)).body).toMatchObject({ status: 'open' });
    await viewEqualsChain();
  });

  it('links an order that had expired before its transaction was mined', async () => {
    const { id, transaction } = await create();
    await agent.cancel(id);
    const hash = await agent.send(transaction);
    expect((await agent.submit(id, hash)).body).toMatchObject({ id, status: 'open', txHash: hash });
    await viewEqualsChain();
  });

  it.each([
    ['a hash that is too short', { txHash: '0x12' }],
    ['no hash', {}],
    ['an unknown field', { txHash: UNKNOWN, wait: 3 }],
  ])('refuses %s', async (_what, body) => {
    expect(refusal(await agent.call('submitOrder', 'POST', '/orders/1/submit', body))).toEqual([400, 'VALIDATION_ERROR']);
  });

  it("does not show another trader's order, nor one that is not there", async () => {
    const { id } = await create();
    expect(refusal(await outsider.submit(id, UNKNOWN))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await agent.submit('999999999', UNKNOWN))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(await agent.order(id)).toMatchObject({ txHash: null });
  });

  it('answers 502 while the node is gone, and stores nothing', async () => {
    const { id } = await create();
    chain.setRpcFault({ mode: 'down' });
    try {
      expect(refusal(await agent.submit(id, UNKNOWN))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    expect(await agent.order(id)).toMatchObject({ status: 'prepared', txHash: null });
  });
});
