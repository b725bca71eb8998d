import { createPublicClient, encodeFunctionData, http } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { sandboxControlAbi } from '../../../sandbox/contracts/artefact.js';
import { newAgentTrader, done } from '../../harness/traders/agent-trader.js';
import { operatorOf } from '../../harness/venue/operator.js';
import { eventually } from '../../harness/time/eventually.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
/** AAPL's slot becomes the split TSLA; TSLA's own takes no openings any more. */
const [HEIR, RETIRED] = [12, 13];

let sandbox: TestVenue;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  const chain = firstChain(sandbox);
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  const pair = (index: number) =>
    client.readContract({ address: chain.definition.diamond, abi: diamondAbi, functionName: 'pairs', args: [BigInt(index)] });
  const [heir, retired] = await Promise.all([pair(HEIR), pair(RETIRED)]);
  const list = [
    { ...heir, pairIndex: BigInt(HEIR), from: 'TSLA_1', customMaxLeverage: 0n },
    { ...retired, pairIndex: BigInt(RETIRED), customMaxLeverage: 1n },
  ];
  const operator = operatorOf(chain);
  await operator.send(encodeFunctionData({ abi: sandboxControlAbi, functionName: 'sandboxSetPairs', args: [list] }));
  await eventually(
    () => sandbox.gateway.venues.get(CHAIN)?.feed.config().pairs[HEIR]?.from,
    (from) => from === 'TSLA_1',
  );
});
afterAll(() => sandbox.stop());

describe('a stock that was split', () => {
  it('is listed once, under its plain name, by the slot that trades', async () => {
    const { data } = (await sandbox.get(`/v1/${CHAIN}/markets`)).body as { data: { symbol: string; pairIndex: number }[] };
    expect(data.filter(({ symbol }) => symbol.startsWith('TSLA'))).toMatchObject([{ symbol: 'TSLA/USD', pairIndex: HEIR }]);
  });

  it.each(['TSLA-USD', 'TSLA%2FUSD', 'tsla-usd'])('is found as %s', async (spelling) => {
    expect(await sandbox.get(`/v1/${CHAIN}/markets/${spelling}`)).toMatchObject({ status: 200, body: { pairIndex: HEIR } });
    expect(await sandbox.get(`/v1/${CHAIN}/markets/${spelling}/book`)).toMatchObject({ status: 200, body: { market: 'TSLA/USD' } });
  });

  it('is priced by that slot', async () => {
    const price = sandbox.gateway.venues.get(CHAIN)?.feed.lastPrice(HEIR)?.mark ?? 0n;
    const { data } = (await sandbox.get(`/v1/${CHAIN}/prices`)).body as { data: { market: string; mark: string }[] };
    const shown = data.filter(({ market }) => market === 'TSLA/USD');
    expect(shown).toHaveLength(1);
    expect(Math.abs(Number(shown[0]?.mark) / (Number(price) / 1e10) - 1)).toBeLessThan(0.02);
  });

  it('is traded in that slot, and called by its plain name on the facade', async () => {
    sandbox.controls.prices.setOpen(HEIR, true);
    const agent = await newAgentTrader(sandbox, firstChain(sandbox));
    const order = { market: 'TSLA/USD', side: 'long', type: 'limit', price: '100', size: '10', leverage: '2' };
    const made = done(await agent.create(order));
    expect(made.order).toMatchObject({ market: 'TSLA/USD' });
    if (!made.transaction) throw new Error('nothing to send');
    await agent.send(made.transaction);
    expect(await agent.trader.trades()).toMatchObject([{ pairIndex: HEIR }]);
    const response = await fetch(`${sandbox.url}/hl/${CHAIN}/info`, { method: 'POST', body: JSON.stringify({ type: 'meta' }) });
    const { universe } = (await response.json()) as { universe: { name: string; isDelisted?: boolean }[] };
    expect(universe[HEIR]).toMatchObject({ name: 'TSLA' });
    expect(universe[RETIRED]).toMatchObject({ isDelisted: true });
    expect(universe[RETIRED]?.name).not.toBe('TSLA');
  });
});
