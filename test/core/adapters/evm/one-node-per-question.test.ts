import { getAbiItem, toFunctionSelector } from 'viem/utils';
import { diamondAbi } from '../../../../core/adapters/evm/diamond-abi.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createViemChain } from '../../../../core/adapters/evm/viem-chain.js';
import { chainBySlug } from '../../../../core/chains/chains.js';
import type { Chain } from '../../../../core/ports/chain.js';
import type { Address } from '../../../../core/types.js';
import { startJsonRpcNode, type JsonRpcNode, type Speak } from '../../../harness/servers/json-rpc-node.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

const definition = chainBySlug('arbitrum-sepolia');
const { chainId } = definition;
const hex = (number: number | bigint): string => `0x${number.toString(16)}`;
/** Selector of `getPairOisAfterV10Token`, which answers with a list. */
const OPEN_INTEREST = '0x040b8df7';
const word = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;
const TOKENS = [1, 2, 3].map((number): Address => `0x${String(number).repeat(40)}`);
const TRADER: Address = `0x${'a'.repeat(40)}`;

/** The contract of these nodes has no fee tiers. */
const FEE_TIERS = new Set(
  (['getFeeTiersTraderInfo', 'getFeeTiers', 'getTraderFeeTiersEnrollment'] as const).map((name) =>
    toFunctionSelector(getAbiItem({ abi: diamondAbi, name })),
  ),
);
const REVERTED = { error: { code: 3, message: 'execution reverted' } };
const isAboutFeeTiers = ([call]: readonly unknown[]): boolean =>
  FEE_TIERS.has(((call as { readonly data?: string } | undefined)?.data ?? '').slice(0, 10) as `0x${string}`);

/** Every amount is the node's own number, which shows who answered. */
const provider =
  (own: number): Speak =>
  (method, params) => {
    if (method === 'eth_chainId') return { result: hex(chainId) };
    if (method === 'eth_blockNumber') return { result: hex(1_000) };
    if (method === 'eth_getLogs') return { result: [] };
    if (method === 'eth_getBlockByNumber') return { result: block(params[0], own) };
    return method === 'eth_call' && isAboutFeeTiers(params) ? REVERTED : { result: word(own) };
  };

const block = (number: unknown, own: number): object => ({
  number: number === 'latest' ? hex(1_000) : number,
  hash: word(own),
  parentHash: word(own),
  timestamp: hex(1),
  transactions: [],
});

let first: JsonRpcNode;
let second: JsonRpcNode;
let chain: Chain;

beforeEach(async () => {
  first = await startJsonRpcNode(provider(1));
  second = await startJsonRpcNode(provider(2));
  chain = chainOf(first, second);
});
afterEach(() => Promise.all([first.close(), second.close()]));

const chainOf = (...nodes: JsonRpcNode[]): Chain =>
  createViemChain({ definition, rpcUrls: nodes.map(({ url }) => url), clock: systemClock, log: createRecordedLog() });

const amounts = async (): Promise<number[]> => {
  const { tokens } = await chain.accountFacts(TRADER, TOKENS);
  return tokens.flatMap((token) => [Number(token?.balance), Number(token?.allowance)]);
};

describe('the answers to one question', () => {
  it('come from one node, also when it fails on one call of many', async () => {
    expect(await amounts()).toEqual([1, 1, 1, 1, 1, 1]);
    let calls = 0;
    first.speak = (method, params) =>
      method === 'eth_call' && (calls += 1) === 4 ? { error: { code: -32603, message: 'internal error' } } : provider(1)(method, params);
    expect(await amounts()).toEqual([2, 2, 2, 2, 2, 2]);
  });

  it('come from one node over several round trips: when it fails in between, another node answers all of them', async () => {
    first.speak = (method, params) => (method === 'eth_getBlockByNumber' ? undefined : provider(1)(method, params));
    const { blocks } = await chain.logs(100n, 900n); // its headers are asked for after its logs
    expect(new Set(blocks.map(({ hash }) => hash))).toEqual(new Set([word(2)]));
    expect(second.heard.flat().filter((method) => method === 'eth_getLogs')).toHaveLength(1);
  });

  it('stay together when many ask at once, in batches that are never long', async () => {
    let calls = 0;
    first.speak = (method, params) =>
      method === 'eth_call' && (calls += 1) === 130 ? { error: { code: -32603, message: 'internal error' } } : provider(1)(method, params);
    const answers = await Promise.all(Array.from({ length: 40 }, amounts));
    expect(answers.every((each) => new Set(each).size === 1)).toBe(true);
    expect(new Set(answers.flat())).toEqual(new Set([1, 2]));
    const lengths = [...first.heard, ...second.heard].map(({ length }) => length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(100);
    expect(Math.max(...lengths)).toBeGreaterThan(60);
  });

  it('share a round trip with another request of the same moment: an opening and what its callback reads', async () => {
    await amounts();
    const before = first.heard.length;
    const words = (...numbers: number[]): string => `0x${numbers.map((number) => word(number).slice(2)).join('')}`;
    const isOpenInterest = (params: unknown): boolean => JSON.stringify(params).includes(OPEN_INTEREST);
    first.speak = (method, params) =>
      method === 'eth_call'
        ? { result: isOpenInterest(params) ? words(32, 1, 1, 1) : words(...Array.from({ length: 16 }, () => 1)) }
        : provider(1)(method, params);
    const opening = { pairIndex: 0, collateralIndex: 3, long: true, positionSizeCollateral: 1n };
    const [simulated, terms, isFit, oi] = await Promise.all([
      chain.simulate({ trader: TRADER, sender: `0x${'b'.repeat(40)}`, data: '0x', token: `0x${'c'.repeat(40)}` }),
      chain.openingTerms(TRADER, 0),
      chain.fitsGroupOi(opening),
      chain.pairOpenInterest(opening),
    ]);
    expect([simulated.revert, terms?.fixedSpreadP, isFit, oi?.oiBeforeV10]).toEqual([null, 1n, true, { long: 1n, short: 1n }]);
    expect(first.heard.slice(before).map(({ length }) => length)).toEqual([9]);
  });

  it('are taken in smaller portions from a node that refuses long batches', async () => {
    chain = chainOf(first);
    first.batchLimit = 3;
    expect(await amounts()).toEqual([1, 1, 1, 1, 1, 1]);
    const answered = first.heard.length;
    expect(await amounts()).toEqual([1, 1, 1, 1, 1, 1]);
    expect(first.heard.slice(answered).every((calls) => calls.length <= 3)).toBe(true);
  });
});

describe('a node of another chain', () => {
  const foreign: Speak = (method, params) => (method === 'eth_chainId' ? { result: hex(1) } : provider(2)(method, params));

  it('is never used, not even when no other is left', async () => {
    second.speak = foreign;
    first.speak = () => undefined;
    await expect(chain.nativeBalance(TRADER)).rejects.toThrow(`it serves chain id 1, but arbitrum-sepolia is ${chainId}`);
    expect(chain.endpoints().map(({ state }) => state)).toEqual(['resting', 'foreign']);
    await expect(chain.nativeBalance(TRADER)).rejects.toThrow('it serves chain id 1');
  });

  it('is not used in place of the only one, which failed', async () => {
    chain = chainOf(first);
    expect(await amounts()).toEqual([1, 1, 1, 1, 1, 1]);
    first.speak = () => undefined;
    await expect(chain.head()).rejects.toThrow();
    first.speak = foreign;
    await expect(chain.head()).rejects.toThrow(`it serves chain id 1, but arbitrum-sepolia is ${chainId}`);
    expect(chain.endpoints().map(({ state }) => state)).toEqual(['foreign']);
    first.speak = provider(1);
    expect((await chain.head()).number).toBe(1_000n);
  });

  it('cannot make the true ones look late', async () => {
    first.speak = (method, params) => (method === 'eth_blockNumber' ? { result: hex(10n ** 9n) } : foreign(method, params));
    expect(await amounts()).toEqual([2, 2, 2, 2, 2, 2]);
    expect((await chain.head()).number).toBe(1_000n);
    expect(chain.endpoints().map(({ state }) => state)).toEqual(['foreign', 'ok']);
  });
});
