import { Wallet } from 'ethers';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { chainTrader, newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { approveAgent, order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import type { KnexStore } from '../../core/adapters/postgres/create-store.js';

const CHAIN = 'arbitrum-sepolia';
const WRITES = 6;

let sandbox: TestVenue;
beforeAll(async () => void (sandbox = await startOwnVenue({ RATE_LIMIT_AGENT_WRITES: String(WRITES) })));
afterAll(() => sandbox.stop());

const post = (body: unknown) => postExchange(sandbox.url, CHAIN, body);

/** An agent of a trader that delegates to the given address, or to none. */
async function newAgent(delegate?: `0x${string}`): Promise<{ agent: Wallet; trader: ChainTrader }> {
  const [chain] = sandbox.controls.chains;
  if (!chain) throw new Error('no chain');
  const trader = chainTrader(chain, (await newTrader(chain, delegate === undefined ? {} : { delegate })).privateKey);
  const agent = new Wallet(generatePrivateKey());
  expect(await post(await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' }))).toMatchObject({
    body: { status: 'ok' },
  });
  return { agent, trader };
}

const CANCEL = { type: 'cancel', cancels: [{ a: 0, o: 1 }] };

describe('an agent whose trader delegates to another address', () => {
  it('is answered with the delegate, the relayer to delegate to, and the transaction', async () => {
    const relayer = sandbox.controls.relayer.toLowerCase();
    const holder = privateKeyToAddress(generatePrivateKey()).toLowerCase() as `0x${string}`;
    for (const [delegate, said] of [
      [undefined, 'not set'],
      [holder, holder],
    ] as const) {
      const { agent, trader } = await newAgent(delegate);
      for (const action of [orderAction(), CANCEL, { type: 'updateLeverage', asset: 0, isCross: true, leverage: 5 }]) {
        const { status, body } = await post(await signL1(agent, action));
        expect([status, body]).toMatchObject([
          200,
          {
            status: 'err',
            response: expect.stringContaining(`is ${said}: let the trader send setTradingDelegate(${relayer})`),
            delegationTx: { to: sandbox.gateway.venues.get(CHAIN)?.definition.diamond, chainId: 421614 },
          },
        ]);
      }
      expect(await trader.trades()).toEqual([]);
      // To sign costs nothing: what cannot be sent is not kept either.
      const books = (sandbox.gateway.store as KnexStore).db('relay_actions');
      expect(await books.where({ signer: agent.address.toLowerCase() })).toEqual([]);
    }
  });

  it('is answered so before any other fault of an order', async () => {
    const level = order({ b: false, r: true, t: { trigger: { isMarket: true, triggerPx: '50000', tpsl: 'sl' } } });
    const grouped = (grouping: string, ...orders: Record<string, unknown>[]) => ({ ...orderAction(...orders), grouping });
    const orders: Record<string, unknown>[] = [
      orderAction(order(), order({ a: 9_999 })),
      orderAction(order({ a: 9_999 })),
      orderAction(order({ s: '0' })),
      orderAction(order({ b: false, r: true })),
      orderAction(order({ c: `0x${'1'.repeat(32)}` }), order({ c: `0x${'1'.repeat(32)}` })),
      orderAction(level),
      grouped('normalTpsl', order(), level),
      grouped('normalTpsl', order({ a: 9_999 }), level),
      grouped('normalTpsl', order()),
      grouped('positionTpsl', level),
      grouped('positionTpsl', order()),
    ];
    for (const action of orders) {
      const { agent } = await newAgent();
      const { body } = await post(await signL1(agent, action));
      expect([action, body]).toMatchObject([action, { status: 'err', response: expect.stringContaining('is not set'), delegationTx: {} }]);
    }
  });

  it('may trade as soon as the transaction is mined', async () => {
    const { agent, trader } = await newAgent();
    const { body } = await post(await signL1(agent, CANCEL));
    const { delegationTx } = body as { delegationTx: { to: `0x${string}`; data: `0x${string}` } };
    await trader.send(delegationTx.to, delegationTx.data);
    expect(await post(await signL1(agent, CANCEL))).toMatchObject({
      status: 200,
      body: { status: 'ok', response: { type: 'cancel', data: { statuses: [{ error: expect.stringContaining('never placed') }] } } },
    });
  });
});

describe('what an agent may send in a minute', () => {
  /** Until a minute is used up; one that ends in between begins anew. */
  async function useUp(agent: Wallet, action: Record<string, unknown>, most: number): Promise<number> {
    for (let sent = 1; sent <= 2 * most + 1; sent += 1) {
      const { status, body } = await post(await signL1(agent, action));
      if (status !== 429) continue;
      expect(body).toMatchObject({ code: 'RATE_LIMITED', details: { scope: 'agent-writes' } });
      return sent;
    }
    throw new Error('nothing was refused');
  }

  it('never stops it from getting out: cancels and reduce-only orders are counted apart', async () => {
    const { agent } = await newAgent();
    expect(await useUp(agent, orderAction(), WRITES)).toBeGreaterThan(WRITES);
    const reduceOnly = orderAction(order({ r: true, b: false }), order({ r: true, b: false }));
    const byCloid = { type: 'cancelByCloid', cancels: [{ asset: 0, cloid: `0x${'1'.repeat(32)}` }] };
    for (const action of [CANCEL, byCloid, reduceOnly, { type: 'scheduleCancel' }])
      expect((await post(await signL1(agent, action))).status).toBe(200);
  });

  it('weighs one more for every forty orders of a batch', async () => {
    const { agent } = await newAgent();
    // What closes at once is no item of the window of items, and with one that opens all of it counts among the writes.
    const batch = orderAction(order(), ...Array.from({ length: 79 }, () => order({ b: false, r: true })));
    expect(await useUp(agent, batch, WRITES / 3)).toBeGreaterThan(WRITES / 3);
  });

  it('is bounded in items too, of which cancels and closes are none', async () => {
    const { agent } = await newAgent(sandbox.controls.relayer);
    const most = Math.floor((WRITES * 400) / 60);
    const many = (changes: object) => Array.from({ length: most + 1 }, () => order({ ...changes }));
    const stop = { b: false, r: true, t: { trigger: { isMarket: true, triggerPx: '50000', tpsl: 'sl' } } };
    const cancels = Array.from({ length: most + 1 }, (_, at) => ({ a: 0, o: at + 1 }));
    expect((await post(await signL1(agent, orderAction(...many({ b: false, r: true }))))).status).toBe(200);
    expect((await post(await signL1(agent, { type: 'cancel', cancels }))).status).toBe(200);
    expect(await post(await signL1(agent, orderAction(...many(stop))))).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMITED', details: { scope: 'agent-writes' } },
    });
  });
});
