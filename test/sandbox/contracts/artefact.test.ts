import { toEventSelector, toFunctionSelector, type AbiFunction } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { DIAMOND_CODE, FACETS, SOURCES_HASH, TOKEN_CODE, sandboxControlAbi } from '../../../sandbox/contracts/artefact.js';
import { readSources, sourcesHash } from '../../../scripts/contract-sources.js';

/** What the sandbox does not serve: borrowing v1, staking, the real oracles' callback and governance's manual realization. */
const NOT_SERVED = [
  'fulfill',
  'initiateManualNegativePnlRealization',
  'getBorrowingPair',
  'getBorrowingPairGroups',
  'getBorrowingInitialAccFees',
  'getBorrowingPairFeePerBlockCap',
  'getBorrowingGroup',
  'getBorrowingPairPendingAccFees',
  'getBorrowingGroupPendingAccFees',
  'getGnsStakingTiers',
  'getGnsStakingInfo',
];

const functions: readonly AbiFunction[] = diamondAbi.filter((item) => item.type === 'function');
const routed = new Set<string>(FACETS.flatMap(({ selectors }) => selectors));

describe('the compiled Diamond', () => {
  it('belongs to the sources beside it', () => {
    expect(SOURCES_HASH).toBe(sourcesHash());
  });

  it('fits the code size limit in every part', () => {
    for (const code of [DIAMOND_CODE, TOKEN_CODE, ...FACETS.map((facet) => facet.code)]) {
      expect((code.length - 2) / 2).toBeLessThanOrEqual(24_576);
      expect(code.length).toBeGreaterThan(1000);
    }
  });

  it("serves every function of the gateway's ABI but the ones named here", () => {
    const missing = functions.filter((item) => !routed.has(toFunctionSelector(item))).map(({ name }) => name);
    expect(missing.sort()).toEqual([...NOT_SERVED].sort());
  });

  it('routes no selector twice', () => {
    expect(routed.size).toBe(FACETS.flatMap(({ selectors }) => selectors).length);
  });

  it('keeps its controls on selectors no real function has', () => {
    const real = new Set(functions.map((item) => toFunctionSelector(item)));
    for (const item of sandboxControlAbi) {
      expect(item.name.startsWith('sandbox')).toBe(true);
      expect(real.has(toFunctionSelector(item))).toBe(false);
    }
  });

  it('declares every event with the topic clients know', () => {
    const source = readSources().get('lib/Events.sol') ?? '';
    const declared = [...source.matchAll(/event (\w+)/g)].map(([, name]) => name);
    const known = new Map(diamondAbi.filter((item) => item.type === 'event').map((item) => [item.name, toEventSelector(item)]));
    expect(declared.filter((name) => !known.has(name as never))).toEqual([]);
    expect(declared.length).toBeGreaterThan(45);
  });
});
