import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createViemChain } from '../../../../core/adapters/evm/viem-chain.js';
import { CHAINS } from '../../../../core/chains/chains.js';
import type { Chain } from '../../../../core/ports/chain.js';
import type { Hex } from '../../../../core/types.js';
import { startJsonRpcNode, type JsonRpcNode, type Speak } from '../../../harness/servers/json-rpc-node.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

const [definition] = CHAINS;
const WALLET = `0x${'ab'.repeat(20)}` as const;
const DIGEST = `0x${'01'.repeat(32)}` as const;
const UNDEPLOYED: Hex = `0x${'00'.repeat(96)}${'6492'.repeat(16)}`;
const APPROVAL = `0x1626ba7e${'0'.repeat(56)}`;

let nodes: JsonRpcNode[] = [];
let calls: { from?: string; gas?: string; to?: string }[] = [];
let chain: Chain;

/** Two nodes that answer everything as usual, and calls of a wallet's code with the given verdicts. */
async function start(verdicts: readonly ReturnType<Speak>[]): Promise<void> {
  nodes = await Promise.all(
    verdicts.map((verdict) =>
      startJsonRpcNode((method, params) => {
        if (method === 'eth_chainId') return { result: `0x${(definition?.chainId ?? 0).toString(16)}` };
        if (method === 'eth_blockNumber') return { result: '0x10' };
        if (method !== 'eth_call') return { result: '0x1' };
        calls.push(params[0] as { from?: string });
        return verdict;
      }),
    ),
  );
  if (definition === undefined) throw new Error('no chain');
  chain = createViemChain({ definition, rpcUrls: nodes.map(({ url }) => url), clock: systemClock, log: createRecordedLog() });
}
afterEach(async () => {
  calls = [];
  await Promise.all(nodes.map((node) => node.close()));
});

const health = () => chain.endpoints().map(({ state, failures, lastError }) => ({ state, failures, lastError }));
const WELL = { state: 'ok', failures: 0, lastError: null };

describe("a wallet's code on a node", () => {
  it.each([
    ['deployed', '0x', 1_000_000],
    ['not deployed yet', UNDEPLOYED, 3_000_000],
  ] as const)('that is %s gets a sender and no more gas than a check takes', async (_state, signature, gas) => {
    await start([{ result: '0x' }]);
    expect(await chain.isValidSignature(WALLET, DIGEST, signature)).toBe(false);
    expect(calls.map(({ from, gas: given }) => [from?.toLowerCase(), Number(given)])).toEqual([
      ['0x000000000000000000000000000000000000dead', gas],
    ]);
  });

  it.each([
    ['out of gas', { error: { code: -32000, message: 'out of gas' } }],
    ['a revert', { error: { code: 3, message: 'execution reverted' } }],
    ["the node's own limit of time", { error: { code: -32000, message: 'execution aborted (timeout = 5s)' } }],
    ['too little gas for the signature itself', { error: { code: -32000, message: 'intrinsic gas too low' } }],
  ])('that ends in %s refuses the signature, and no second node is asked', async (_how, verdict) => {
    await start([verdict, { result: APPROVAL }]);
    expect(await chain.isValidSignature(WALLET, DIGEST, '0x')).toBe(false);
    expect(calls).toHaveLength(1);
    expect(health()).toEqual([WELL, WELL]);
  });

  it.each([
    ['rate limit', { error: { code: -32005, message: 'rate limit exceeded' } }],
    ['internal error', { error: { code: -32603, message: 'internal error' } }],
    ['broken connection', undefined],
  ])('meets a %s: the next node is asked, and neither is put to rest', async (_trouble, answer) => {
    await start([answer, { result: APPROVAL }]);
    expect(await chain.isValidSignature(WALLET, DIGEST, '0x')).toBe(true);
    expect(health()).toEqual([WELL, WELL]);
  });

  it('fails on every node: the caller gets an error, and no node is put to rest', async () => {
    await start([undefined, undefined]);
    await expect(chain.isValidSignature(WALLET, DIGEST, '0x')).rejects.toThrow('no node answered');
    expect(health()).toEqual([WELL, WELL]);
  });
});
