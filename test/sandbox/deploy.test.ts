import { CHAIN_SLUGS, chainBySlug } from '../../core/chains/chains.js';
import { createEngine } from '../../sandbox/chain/engine.js';
import { deployDiamond, type Deployment, type Request } from '../../sandbox/deploy.js';
import { SANDBOX_MARKETS } from '../../sandbox/markets.js';
import { closeWorlds, createDiamondWorld, OPERATOR } from '../harness/diamond/bare-diamond.js';

afterEach(closeWorlds);

async function deployFresh(): Promise<{ deployment: Deployment; head: unknown; methods: ReadonlySet<string> }> {
  const engine = await createEngine({ chainId: 421614, genesisTime: 1_750_000_000, balances: new Map() });
  const methods = new Set<string>();
  const request: Request = (method, params) => {
    methods.add(method);
    return engine.request(method, params);
  };
  const deployment = await deployDiamond({ request, chain: chainBySlug('arbitrum-sepolia'), operator: OPERATOR });
  const head = await engine.request('eth_getBlockByNumber', ['latest', false]);
  engine.close();
  return { deployment, head, methods };
}

describe('a deployment', () => {
  it('is the same to the last hash every time', async () => {
    const [one, two] = [await deployFresh(), await deployFresh()];
    expect(one.head).toEqual(two.head);
    expect(one.deployment).toEqual(two.deployment);
  });

  it('uses only what a replay can repeat: admin calls and signed transactions', async () => {
    const { methods } = await deployFresh();
    const writes = [...methods].filter((method) => !method.startsWith('eth_get')).sort();
    expect(writes).toEqual(['eth_sendRawTransaction', 'evm_mine', 'hardhat_setBalance', 'hardhat_setCode']);
  });

  it.each(CHAIN_SLUGS)('puts the Diamond at its real address on %s, with USDC and DAI at their indices', async (slug) => {
    const world = await createDiamondWorld({ chain: slug });
    expect(world.diamond).toBe(chainBySlug(slug).diamond);
    const onChain = await world.read('getCollaterals', []);
    for (const { address, index, decimals } of world.collaterals) {
      expect(onChain[index - 1]).toMatchObject({
        collateral: address,
        isActive: true,
        precision: 10n ** BigInt(decimals),
        precisionDelta: 10n ** BigInt(18 - decimals),
      });
      expect(await world.read('getCollateralIndex', [address])).toBe(index);
    }
    const symbols = world.collaterals.map(({ symbol }) => symbol);
    expect(symbols).toEqual(expect.arrayContaining(['USDC', 'DAI']));
    expect(onChain.filter(({ isActive }) => isActive)).toHaveLength(symbols.length);
    expect(await world.balanceOf('USDC', world.diamond)).toBe(10n ** 15n);
  });

  it('lists every market and leaves the delisted slot blank', async () => {
    const world = await createDiamondWorld();
    expect(await world.read('pairsCount', [])).toBe(BigInt(SANDBOX_MARKETS.length));
    for (const [index, market] of SANDBOX_MARKETS.entries()) {
      const pair = await world.read('pairs', [BigInt(index)]);
      expect([pair.from, pair.to]).toEqual([market?.from ?? '', market?.to ?? '']);
      expect(await world.read('isPairIndexListed', [BigInt(index)])).toBe(market !== null);
      const [above, below] = await world.read('getPairDepthBandsDecoded', [BigInt(index)]);
      expect([above, below]).toEqual([BigInt(market?.depthUsd ?? 0), BigInt(market?.depthUsd ?? 0)]);
    }
    expect(await world.read('isPairListed', ['BTC', 'USD'])).toBe(true);
    expect(await world.read('isPairListed', ['', ''])).toBe(false);
  });

  it('restricts the leverage of the market that says so', async () => {
    const world = await createDiamondWorld();
    const tesla = SANDBOX_MARKETS.findIndex((market) => market?.from === 'TSLA');
    expect(await world.read('pairMaxLeverage', [BigInt(tesla)])).toBe(4000n);
    expect((await world.read('getAllPairsRestrictedMaxLeverage', []))[tesla]).toBe(4000n);
    expect(await world.read('pairMaxLeverage', [0n])).toBe(150_000n);
  });

  it('has liquidation parameters that the protocol itself accepts, in every group', async () => {
    const world = await createDiamondWorld();
    for (const [index, market] of SANDBOX_MARKETS.entries()) {
      if (market === null) continue;
      const pair = await world.read('pairs', [BigInt(index)]);
      const { minLeverage, maxLeverage } = await world.read('groups', [pair.groupIndex]);
      const params = await world.read('getPairLiquidationParams', [BigInt(index)]);
      const percent = 10 ** 10;
      expect(params.maxLiqSpreadP).toBeLessThanOrEqual(percent / 20);
      expect(params.startLiqThresholdP).toBeLessThanOrEqual(90 * percent);
      expect(params.endLiqThresholdP).toBeLessThanOrEqual(params.startLiqThresholdP);
      expect(params.endLiqThresholdP).toBeGreaterThanOrEqual(50 * percent);
      expect(params.startLeverage).toBeGreaterThanOrEqual(Number(minLeverage));
      expect(params.startLeverage).toBeLessThanOrEqual(params.endLeverage);
      expect([market.from, params.endLeverage <= Number(maxLeverage)]).toEqual([market.from, true]);
      expect(Object.values(params).every((value) => value > 0)).toBe(true);
    }
  });

  it('ends with its world, of which nothing answers any more', async () => {
    const [world, other] = [await createDiamondWorld(), await createDiamondWorld({ chain: 'base' })];
    expect(await world.now()).toBeGreaterThan(0);
    closeWorlds();
    await expect(world.now()).rejects.toThrow('the chain is closed');
    await expect(other.now()).rejects.toThrow('the chain is closed');
  });

  it('answers the loupe for what it serves and for what it does not', async () => {
    const world = await createDiamondWorld();
    const facets = await world.read('facets', []);
    for (const { facetAddress, functionSelectors } of facets) {
      for (const selector of functionSelectors.slice(0, 3)) expect(await world.read('facetAddress', [selector])).toBe(facetAddress);
    }
    expect(await world.read('facetAddress', ['0xdeadbeef'])).toBe('0x0000000000000000000000000000000000000000');
  });
});
