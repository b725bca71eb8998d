import { Wallet } from 'ethers';
import type { RpcRequestError } from 'viem';
import type { ChainControls } from '../../sandbox/controls.js';
import { newAgentTrader, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { operatorOf } from '../harness/venue/operator.js';
import { controlCall, diamondCall, tokenCall } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { agentsOf, domainOf, EVERYTHING, keyIssue, revocation, signWith } from '../harness/traders/master-wallet.js';
import { setClassOpen } from '../harness/venue/market-hours.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';

const ETH = 1;

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain, { usdc: '30000000' });
});
afterAll(() => sandbox.stop());

const order = (changes: Json = {}): Json => ({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10', ...changes });
const details = async (changes: Json, who = agent): Promise<Json> => (await who.create(order(changes))).body['details'] as Json;

describe('an order that is not one', () => {
  it('is refused by the name of what is wrong with it', async () => {
    const answer = await agent.create(order({ reduceonly: true }));
    expect(refusal(answer)).toEqual([400, 'VALIDATION_ERROR']);
    expect((answer.body['details'] as { issues: { path: string }[] }).issues.map((issue) => issue.path)).toContain('reduceonly');
  });

  it('because of too many decimals names the nearest valid value', async () => {
    const answer = await agent.create(order({ size: '0.123456785' }));
    expect(refusal(answer)).toEqual([422, 'PRECISION_ERROR']);
    expect(answer.body['details']).toMatchObject({ field: 'size', maxDecimals: 8, nearest: '0.12345679' });
  });
});

describe('an order against the rules of its market', () => {
  it('has the leverage of the market, from the least to the most', async () => {
    for (const leverage of ['1.099', '150.001', '0.001'])
      expect([leverage, refusal(await agent.create(order({ leverage })))]).toEqual([leverage, [422, 'LEVERAGE_OUT_OF_RANGE']]);
    expect(await details({ leverage: '151' })).toEqual({ leverage: '151', min: '1.1', max: '150' });
    for (const leverage of ['1.1', '150']) expect((await agent.create(order({ leverage }))).status).toBe(201);
  });

  it('brings the least collateral that an opening needs', async () => {
    const limit = { type: 'limit', price: '50000', leverage: '10' };
    expect(refusal(await agent.create(order({ ...limit, size: '0.00074999' })))).toEqual([422, 'SIZE_BELOW_MINIMUM']);
    expect(await details({ ...limit, size: '0.0001' })).toEqual({
      collateralUsd: '0.5',
      leverage: '10',
      minCollateralUsd: '3.75',
      minNotionalUsd: '37.5',
    });
    expect((await agent.create(order({ ...limit, size: '0.00075' }))).status).toBe(201);
  });

  it.each([
    ['NOPE/USD', 404, 'MARKET_NOT_FOUND'],
    ['usd-nope', 404, 'MARKET_NOT_FOUND'],
  ])('is for a market there is, not for %s', async (market, status, code) => {
    expect(refusal(await agent.create(order({ market })))).toEqual([status, code]);
  });

  it('is for a collateral there is, in any letter case', async () => {
    const answer = await agent.create(order({ collateral: 'GOLD' }));
    expect(refusal(answer)).toEqual([422, 'COLLATERAL_NOT_SUPPORTED']);
    expect((answer.body['details'] as { supported: string[] }).supported).toContain('USDC');
    expect((await agent.create(order({ collateral: 'usdc' }))).body['order']).toMatchObject({ collateral: 'USDC' });
  });

  it('has its take profit and its stop loss on their sides', async () => {
    const wrong = async (changes: Json) => (await details({ type: 'limit', price: '50000', ...changes }))['errorName'];
    expect(await wrong({ tp: '50000' })).toBe('TradeTpInvalid');
    expect(await wrong({ sl: '50000' })).toBe('TradeSlInvalid');
    expect(await wrong({ side: 'short', tp: '50000.1' })).toBe('TradeTpInvalid');
    expect(await wrong({ side: 'short', sl: '49999.9' })).toBe('TradeSlInvalid');
  });

  it('waits outside while the market is shut, unless it only rests', async () => {
    const eur = { market: 'EUR/USD', size: '1000' };
    setClassOpen(sandbox, 9, false);
    const shut = await eventually(
      () => agent.create(order(eur)),
      ({ body }) => body['code'] === 'MARKET_CLOSED',
    );
    expect(shut.body['details']).toEqual({ market: 'EUR/USD', session: 'closed' });
    expect((await agent.create(order({ ...eur, type: 'limit', price: '0.9' }))).status).toBe(201);
    setClassOpen(sandbox, 9, true);
    await eventually(
      () => agent.create(order(eur)),
      ({ status }) => status === 201,
    );
  });

  it('is refused because its market is disabled, not because of its leverage', async () => {
    const becomes = (isOpen: boolean) => {
      sandbox.controls.prices.setOpen(ETH, isOpen);
      return eventually(
        () => sandbox.get(`/v1/${chain.definition.slug}/markets/ETH-USD`),
        ({ body }) => (body as { isOpen: boolean }).isOpen === isOpen,
      );
    };
    const eth = { market: 'ETH/USD', size: '1' };
    await agent.place(order(eth), 'filled');
    const { id } = await agent.position();
    await becomes(false);
    try {
      for (const changes of [{}, { type: 'limit', price: '1000' }, { leverage: '0.001' }]) {
        const answer = await agent.create(order({ ...eth, ...changes }));
        expect([...refusal(answer), answer.body['details']]).toEqual([422, 'MARKET_CLOSED', { market: 'ETH/USD', session: 'disabled' }]);
      }
      const { body: quote } = await sandbox.post(`/v1/${chain.definition.slug}/quote`, order(eth));
      expect(quote).toMatchObject({ session: 'disabled', reason: 'MARKET_CLOSED' });
      expect(refusal(await agent.adjust(String(id), { leverage: '20' }))).toEqual([422, 'MARKET_CLOSED']);
      expect((await agent.adjust(String(id), { leverage: '5' })).status).toBe(200);
    } finally {
      await becomes(true);
    }
  });

  it.each([
    [1, 'close_only'],
    [2, 'closed'],
  ])('opens nothing while trading is in state %i', async (state, session) => {
    const operator = operatorOf(chain);
    const set = (activated: number) => operator.control('sandboxSetTradingActivated', [activated]);
    await set(state);
    const answer = await eventually(
      () => agent.create(order({ type: 'limit', price: '50000' })),
      ({ body }) => body['code'] === 'MARKET_CLOSED',
    );
    expect([answer.status, answer.body['details']]).toEqual([422, { market: 'BTC/USD', session }]);
    await set(0);
    await eventually(
      () => agent.create(order()),
      ({ status }) => status === 201,
    );
  });
});

describe('an order that the oracle would find refused', () => {
  it.each([
    ['SLIPPAGE', { price: '50000' }],
    ['TP_REACHED', { price: '50000', slippage: '60', tp: '55000' }],
    ['SL_REACHED', { price: '70000', sl: '65000' }],
    ['EXPOSURE_LIMITS', { size: '510', leverage: '2', slippage: '60' }],
  ])('with %s is not prepared', async (errorName, changes) => {
    const answer = await agent.create(order(changes));
    expect(refusal(answer)).toEqual([422, 'SIMULATION_REVERTED']);
    expect(answer.body['details']).toMatchObject({ errorName, stage: 'callback', calldata: expect.stringMatching(/^0x5bfcc4f8/) });
  });

  it('names the two figures that disagree', async () => {
    const [price, worst] = (await details({ price: '50000' }))['args'] as string[];
    expect([Number(price) > 59_000, worst]).toEqual([true, '50500']);
    const [size, limit] = (await details({ size: '510', leverage: '2', slippage: '60' }))['args'] as string[];
    expect([Number(size) > 30_000_000, Number(limit) <= 30_000_000]).toEqual([true, true]);
  });

  it('may rest all the same: the exposure may fall later', async () => {
    const answer = await agent.create(order({ type: 'limit', price: '50000', size: '620', leverage: '2', slippage: '60' }));
    expect(answer.status).toBe(201);
  });
});

describe('an order that the contracts would revert', () => {
  it('is refused with their error and a call that fails the same way', async () => {
    const answer = await agent.create(order({ size: '400', leverage: '150', slippage: '60', type: 'limit', price: '60000' }));
    expect(refusal(answer)).toEqual([422, 'SIMULATION_REVERTED']);
    const { errorName, args, calldata, stage } = answer.body['details'] as {
      errorName: string;
      args: string[];
      calldata: `0x${string}`;
      stage?: string;
    };
    // The contract's error has no arguments; these are the predicted loss and the most it allows, in percent.
    expect([errorName, args, stage]).toEqual(['PriceImpactTooHigh', [expect.stringMatching(/^\d+(\.\d+)?$/), '40'], undefined]);
    const { client, account } = agent.trader;
    const replay = client.request({
      method: 'eth_call',
      params: [{ from: account.address, to: chain.definition.diamond, data: calldata }, 'latest'],
    });
    await expect(replay).rejects.toThrow(/revert/i);
    await expect(replay.catch((error: unknown) => ((error as Error).cause as RpcRequestError).data)).resolves.toBe('0xfb30d03a');
  });
});

describe('an agent', () => {
  let small: AgentTrader;
  beforeAll(async () => {
    small = await newAgentTrader(sandbox, chain, { usdc: '1000' });
  });
  const limit = (size: string): Json => order({ type: 'limit', price: '50000', size });

  it('whose trader lacks collateral is answered with what is there and what is needed', async () => {
    const answer = await small.create(limit('0.21'));
    expect(refusal(answer)).toEqual([422, 'SIMULATION_REVERTED']);
    expect(answer.body['details']).toMatchObject({
      errorName: 'ERC20InsufficientBalance',
      funds: { collateral: 'USDC', required: '1050', balance: '1000' },
    });
  });

  it('whose trader has terms of its own is held to those', async () => {
    const operator = operatorOf(chain);
    const tight = order({ size: '0.05', slippage: '0.3' });
    expect((await small.create(tight)).status).toBe(201);
    const spread = controlCall('sandboxSetUserPriceImpact', [small.trader.account.address, 0n, 0, 1000]);
    await operator.send(spread);
    expect((await details({ slippage: '0.3' }, small))['errorName']).toBe('SLIPPAGE');
  });

  it('whose trader approved too little is handed the approval', async () => {
    const { trader } = small;
    const usdc = chain.collaterals.find(({ symbol }) => symbol === 'USDC');
    await trader.send(usdc?.address ?? '0x', tokenCall('approve', [chain.definition.diamond, 1n]));
    const refused = await small.create(limit('0.01'));
    const { errorName, approvalTx } = refused.body['details'] as {
      errorName: string;
      approvalTx: { to: `0x${string}`; data: `0x${string}` };
    };
    expect(errorName).toBe('ERC20InsufficientAllowance');
    await trader.send(approvalTx.to, approvalTx.data);
    expect((await small.create(limit('0.01'))).status).toBe(201);
  });

  it('that is no longer the delegate is answered with the transaction to become it', async () => {
    const { trader, wallet } = small;
    await trader.send(chain.definition.diamond, diamondCall('removeTradingDelegate', []));
    const refused = await small.create(limit('0.01'));
    expect(refusal(refused)).toEqual([403, 'AGENT_NOT_DELEGATED']);
    const { delegate, delegationTx } = refused.body['details'] as {
      delegate: null;
      delegationTx: { to: `0x${string}`; data: `0x${string}` };
    };
    expect(delegate).toBeNull();
    await trader.send(delegationTx.to, delegationTx.data);
    expect((await small.create(limit('0.01'))).status).toBe(201);
    await trader.send(chain.definition.diamond, diamondCall('setTradingDelegate', [chain.definition.diamond]));
    const other = (await small.create(limit('0.01'))).body['details'] as Json;
    expect(other).toMatchObject({ agent: wallet.address.toLowerCase(), delegate: chain.definition.diamond.toLowerCase() });
  });

  it('stays within the markets, the leverage and the spending of its scope, and a refusal costs nothing of it', async () => {
    const scope = { ...EVERYTHING, markets: ['BTC/USD'], maxLeverage: '9.999', dailySpendCapUsd: '1000' };
    const bounded = await newAgentTrader(sandbox, chain, { scope });
    expect(refusal(await bounded.create(order({ market: 'ETH/USD' })))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
    expect(refusal(await bounded.create(order()))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
    expect(refusal(await bounded.create(order({ leverage: '5' })))).toEqual([403, 'SCOPE_SPEND_CAP_EXCEEDED']);
    const low = (size: string): Json => ({ ...limit(size), leverage: '5' });
    expect((await bounded.create(low('0.008'))).status).toBe(201);
    expect((await bounded.create(low('0.008'))).status).toBe(201);
    const { requestedUsd, spentUsd, capUsd } = (await bounded.create(low('0.008'))).body['details'] as Record<string, string>;
    expect([requestedUsd, spentUsd, capUsd]).toEqual(['400', '800', '1000']);
    expect((await bounded.create(low('0.004'))).status).toBe(201);
  });

  it('that may only read, was revoked, is unknown, or has only a key, prepares nothing', async () => {
    const own = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, permissions: 'read' } });
    expect(refusal(await own.create(order()))).toEqual([403, 'SCOPE_READ_ONLY']);
    const { trader, wallet } = own;
    const sign = signWith(new Wallet(trader.privateKey), await domainOf(sandbox));
    const key = (await sandbox.post('/v1/arbitrum-sepolia/api-keys', await keyIssue(sign, trader.account.address, 'bot'))).body as {
      apiKey: string;
    };
    const withKey = await sandbox.post('/v1/arbitrum-sepolia/orders', order(), { 'X-Service-Api-Key': key.apiKey });
    expect([withKey.status, (withKey.body as Json)['code']]).toEqual([401, 'UNAUTHENTICATED']);
    const bare = await sandbox.post('/v1/arbitrum-sepolia/orders', order());
    expect([bare.status, (bare.body as Json)['code']]).toEqual([401, 'UNAUTHENTICATED']);
    await agentsOf(sandbox).revoke(wallet.address, await revocation(sign, trader.account.address, wallet.address));
    expect(refusal(await own.create(order()))).toEqual([403, 'AGENT_REVOKED']);
  });

  it('on a chain that is not served is refused', async () => {
    const answer = await sandbox.post('/v1/optimism/orders', order());
    expect([answer.status, (answer.body as Json)['code']]).toEqual([404, 'CHAIN_NOT_FOUND']);
  });
});
