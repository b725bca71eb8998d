import { decodeFunctionResult, encodeFunctionResult, type Hex } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { readyOf, without } from '../harness/venue/chain-facts.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { closeFaultyNodes } from '../harness/servers/faulty-node.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { asks, startTamperingProxy, type Twist } from '../harness/servers/tampering-proxy.js';

const SLUG = 'arbitrum-sepolia';
const UPDATE_LEVERAGE = '0x0bce9aaa';
const NOTE = `the Diamond does not serve updateLeverage (${UPDATE_LEVERAGE}): changing leverage and margin is off`;

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_CHAINS: `${SLUG},polygon` });
  chain = firstChain(sandbox);
}, 60_000);
afterEach(closeFaultyNodes);
afterAll(() => sandbox.stop());

const notesOf = async (from: Pick<SecondGateway, 'get'> = sandbox) => (await readyOf(from)).chains[SLUG]?.notes;

/** A gateway whose first chain is reached through the twisted node; the other chain is as it was. */
async function behind<Result>(twist: Twist, work: (other: SecondGateway) => Promise<Result>): Promise<Result> {
  const url = await startTamperingProxy(chain.rpcUrl, twist);
  const chains = sandbox.config.chains.map((config) => (config.chain.slug === SLUG ? { ...config, rpcUrls: [url], wsUrls: [] } : config));
  const other = await startSecondGateway({ ...sandbox, config: { ...sandbox.config, chains } });
  try {
    return await work(other);
  } finally {
    await other.stop();
  }
}

/** The backend keeps the true time, and so is long silent to a gateway whose clock was moved: what is noted of it is left out. */
const chainNotes = async (other: Parameters<typeof notesOf>[0]): Promise<string[] | undefined> =>
  (await notesOf(other))?.filter((note) => !note.startsWith('the backend '));

describe('an upgrade while the gateway runs', () => {
  it('is noticed within minutes, without a restart', async () => {
    const clock = createShiftedClock();
    const other = await startSecondGateway(sandbox, { clock });
    try {
      await eventually(
        () => readyOf(other),
        ({ ready }) => ready,
      );
      await without(sandbox, [UPDATE_LEVERAGE], async () => {
        expect(await notesOf(other)).toEqual([]);
        clock.move(10 * 60_000);
        expect(
          await eventually(
            () => chainNotes(other),
            (notes) => (notes?.length ?? 0) > 0,
          ),
        ).toEqual([NOTE]);
        expect(other.log.entries.filter(({ event }) => event === 'chain.differs')).toHaveLength(1);
      });
      clock.move(10 * 60_000);
      await eventually(
        () => chainNotes(other),
        (notes) => notes?.length === 0,
      );
    } finally {
      await other.stop();
    }
  }, 30_000);
});

describe('a node that answers oddly', () => {
  it('with a contract that does not list its functions leaves everything on, unchecked', async () => {
    const refuse: Twist = (call, { id, ...answer }) =>
      asks(call, 'facetAddress')
        ? { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted', data: '0x' } }
        : { id, ...answer };
    await behind(refuse, async (other) => {
      await eventually(
        () => readyOf(other),
        ({ ready }) => ready,
      );
      expect(await notesOf(other)).toEqual(['the Diamond does not list the functions it serves: they are unchecked']);
      expect(other.gateway.venues.get(SLUG)?.state.facts?.missing).toBeNull();
    });
  }, 30_000);

  it('with other collaterals than were published is believed, and the difference is reported', async () => {
    const other: Hex = '0x00000000000000000000000000000000000000AA';
    const swap: Twist = (call, answer) => {
      if (!asks(call, 'getCollaterals')) return answer;
      const rows = decodeFunctionResult({ abi: diamondAbi, functionName: 'getCollaterals', data: answer['result'] as Hex });
      const result = rows
        .slice(0, 3)
        .map((row, at) => (at === 0 ? { ...row, collateral: other } : at === 1 ? { ...row, precision: 100n } : row));
      return { ...answer, result: encodeFunctionResult({ abi: diamondAbi, functionName: 'getCollaterals', result }) };
    };
    await behind(swap, async (gateway) => {
      await eventually(
        () => readyOf(gateway),
        ({ ready }) => ready,
      );
      expect(await notesOf(gateway)).toEqual([
        expect.stringContaining(`collateral 1 (DAI) is ${other} in the Diamond, but was published as 0xfBb7`),
        "collateral 2 (WETH) has 2 decimals in the Diamond, but was published with 18; the Diamond's are used",
        'collateral 4 (GNS) was published, but the Diamond has none',
        expect.stringContaining(`collateral 1 (DAI) is ${other} in the Diamond, but 0xfBb7`),
      ]);
      expect(gateway.gateway.venues.get(SLUG)?.state.facts?.collaterals?.[0]?.address).toBe(other);
    });
  }, 30_000);

  it.each<[string, Twist, string]>([
    [
      'of another chain',
      (call, answer) => (call.method === 'eth_chainId' ? { ...answer, result: '0x1' } : answer),
      `the node serves chain id 1, but ${SLUG} is 421614`,
    ],
    [
      'without the contract',
      (call, answer) => (call.method === 'eth_getCode' ? { ...answer, result: '0x' } : answer),
      "there is no contract at the Diamond's address",
    ],
  ])(
    '%s closes that chain alone',
    async (_, twist, reason) => {
      await behind(twist, async (other) => {
        const { chains } = await eventually(
          () => readyOf(other),
          ({ chains }) => chains['polygon']?.ready === true && JSON.stringify(chains[SLUG]?.reasons).includes(reason),
        );
        expect(chains[SLUG]).toMatchObject({ ready: false, notes: [] });
        expect((await other.get('/health')).status).toBe(200);
        expect((await other.get('/v1/polygon/markets')).status).toBe(200);
        expect(other.gateway.venues.get(SLUG)?.state.facts).toBeNull();
      });
    },
    30_000,
  );

  it('for a moment after the start loses its chain until it is itself again', async () => {
    const clock = createShiftedClock();
    let isForeign = false;
    const url = await startTamperingProxy(chain.rpcUrl, (call, answer) =>
      isForeign && call.method === 'eth_chainId' ? { ...answer, result: '0x1' } : answer,
    );
    const chains = sandbox.config.chains
      .filter(({ chain: { slug } }) => slug === SLUG)
      .map((config) => ({ ...config, rpcUrls: [url], wsUrls: [] }));
    const other = await startSecondGateway({ ...sandbox, config: { ...sandbox.config, chains } }, { clock });
    try {
      await eventually(
        () => readyOf(other),
        ({ ready }) => ready,
      );
      isForeign = true;
      clock.move(10 * 60_000);
      await eventually(
        () => readyOf(other),
        ({ chains }) => JSON.stringify(chains[SLUG]?.reasons).includes('chain id 1'),
      );
      isForeign = false;
      await eventually(
        () => readyOf(other),
        ({ ready }) => ready,
      );
    } finally {
      await other.stop();
    }
  }, 30_000);
});
