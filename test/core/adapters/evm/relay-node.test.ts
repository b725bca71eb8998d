import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createViemChain } from '../../../../core/adapters/evm/viem-chain.js';
import { chainBySlug } from '../../../../core/chains/chains.js';
import type { Chain } from '../../../../core/ports/chain.js';
import { startJsonRpcNode, type JsonRpcNode, type Speak } from '../../../harness/servers/json-rpc-node.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

/** What the relayer receives from two nodes of which the first is faulty. */

const definition = chainBySlug('arbitrum-sepolia');
const WALLET = `0x${'ab'.repeat(20)}` as const;
const HASH = `0x${'cd'.repeat(32)}` as const;
const RECEIPT = { blockHash: HASH, blockNumber: '0x7', gasUsed: '0x2', effectiveGasPrice: '0x3', status: '0x1' };

const healthy: Speak = (method) => {
  if (method === 'eth_chainId') return { result: `0x${definition.chainId.toString(16)}` };
  if (method === 'eth_getTransactionReceipt') return { result: RECEIPT };
  if (method === 'eth_sendRawTransaction') return { result: HASH };
  return { result: '0x5' };
};

let first: JsonRpcNode;
let second: JsonRpcNode;
let chain: Chain;

beforeEach(async () => {
  first = await startJsonRpcNode(healthy);
  second = await startJsonRpcNode(healthy);
  const rpcUrls = [first, second].map(({ url }) => `${url}/SECRET-KEY`);
  chain = createViemChain({ definition, rpcUrls, clock: systemClock, log: createRecordedLog() });
});
afterEach(() => Promise.all([first.close(), second.close()]));

/** Otherwise it is as good as any. */
function spoil(node: JsonRpcNode, method: string, answer: ReturnType<Speak>): void {
  node.speak = (asked, params) => (asked === method ? answer : healthy(asked, params));
}

const hostOf = ({ url }: JsonRpcNode): string => new URL(url).host;
const times = ({ heard }: JsonRpcNode, method: string): number => heard.flat().filter((each) => each === method).length;
const states = (): string[] => chain.endpoints().map(({ state }) => state);

const UNKNOWN_METHOD = { code: -32601, message: 'the method eth_sendRawTransaction does not exist/is not available' };

describe('a transaction', () => {
  it.each([
    ['does not know how to send', UNKNOWN_METHOD],
    ['may not send', { code: -32000, message: 'eth_sendRawTransaction is not allowed on this plan' }],
  ])('that one node %s is sent by the other, and the first is read from as before', async (_what, error) => {
    spoil(first, 'eth_sendRawTransaction', { error });
    expect(await chain.relay.send('0x02')).toEqual({ verdict: 'accepted', note: null });
    await chain.relay.account(WALLET);
    expect([times(first, 'eth_getBalance'), times(second, 'eth_getBalance')]).toEqual([1, 0]);
    expect(states()).toEqual(['ok', 'ok']);
  });

  it('that neither may send is refused by one of them, which is named by its host alone', async () => {
    for (const node of [first, second]) spoil(node, 'eth_sendRawTransaction', { error: UNKNOWN_METHOD });
    expect(await chain.relay.send('0x02')).toEqual({ verdict: 'unknown', note: `${hostOf(first)}: ${UNKNOWN_METHOD.message}` });
  });

  it('that is invalid is refused by the first node that receives it', async () => {
    spoil(first, 'eth_sendRawTransaction', { error: { code: -32000, message: 'insufficient funds for gas * price + value' } });
    expect(await chain.relay.send('0x02')).toMatchObject({ verdict: 'no-funds' });
    expect(times(second, 'eth_sendRawTransaction')).toBe(0);
  });
});

describe('an answer that cannot be read', () => {
  it.each([
    ['a receipt without its fields', 'eth_getTransactionReceipt', { transactionHash: HASH }],
    ['a receipt that is no object', 'eth_getTransactionReceipt', 'pending'],
    ['a receipt that does not say how it went', 'eth_getTransactionReceipt', { ...RECEIPT, status: null }],
    ['a count that is none', 'eth_getTransactionCount', null],
    ['a balance that is none', 'eth_getBalance', '12 ETH'],
  ])('(%s) is none, and the other node is asked', async (_what, method, result) => {
    spoil(first, method, { result });
    const account = await chain.relay.account(WALLET);
    const receipts = await chain.relay.receipts([HASH]);
    expect(account).toEqual({ nonce: 5, pending: 5, balance: 5n });
    expect(receipts).toEqual([{ hash: HASH, blockNumber: 7n, blockHash: HASH, gasUsed: 2n, costWei: 6n, succeeded: true }]);
    expect(chain.endpoints()[0]).toMatchObject({ state: 'resting', lastError: { text: `its answer to ${method} cannot be read` } });
  });

  it('and no other node there, those that were asked are named by their hosts alone', async () => {
    spoil(first, 'eth_getTransactionReceipt', { result: {} });
    second.speak = () => undefined;
    const error = await chain.relay.receipts([HASH]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'NoNodeError', hosts: [hostOf(first), hostOf(second)] });
    expect(String(error)).not.toContain('SECRET-KEY');
  });

  it('is not the lack of a receipt', async () => {
    spoil(first, 'eth_getTransactionReceipt', { result: null });
    expect(await chain.relay.receipts([HASH])).toEqual([null]);
    expect(states()).toEqual(['ok', 'ok']);
  });
});
