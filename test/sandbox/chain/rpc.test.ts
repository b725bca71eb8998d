import { request } from 'node:http';
import { ethers } from 'ethers';
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  encodeErrorResult,
  http,
  parseAbi,
  webSocket,
  type Transport,
} from 'viem';
import { arbitrumSepolia } from 'viem/chains';
import { getWebSocketRpcClient } from 'viem/utils';
import { alice, bob, call, CHAIN_ID, cleanUp, FAILER, later, post, REVERTER, send, sign, startNode, type Answer } from './fixture.js';

afterEach(cleanUp);

const OTHER = '0x00000000000000000000000000000000000e0003';

/** fetch does not let its caller choose the Host header. */
const statusFor = (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers }, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end('{}');
  });

describe('JSON-RPC over HTTP', () => {
  it('answers a single request under its own id', async () => {
    const { url } = await startNode();
    expect(await post(url, { jsonrpc: '2.0', id: 'mine', method: 'eth_chainId' })).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 'mine', result: '0x66eee' },
    });
  });

  it('answers a batch in order and leaves notifications out', async () => {
    const { url } = await startNode();
    const { body } = await post(url, [
      { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' },
      { jsonrpc: '2.0', method: 'eth_chainId' },
      { jsonrpc: '2.0', id: 2, method: 'net_version', params: [] },
      5,
    ]);
    expect((body as Answer[]).map(({ id, result, error }) => [id, result ?? error?.code])).toEqual([
      [1, '0x0'],
      [2, String(CHAIN_ID)],
      [null, -32600],
    ]);
  });

  it('sends nothing back for a notification', async () => {
    const { url } = await startNode();
    expect(await post(url, { jsonrpc: '2.0', method: 'eth_chainId' })).toEqual({ status: 204, body: null });
  });

  it.each([
    ['text that is no JSON', '{"id":', -32700],
    ['an empty batch', [], -32600],
    ['a bare number', 5, -32600],
    ['a request without a method', { id: 1 }, -32600],
    ['an id that is an object', { id: {}, method: 'eth_chainId' }, -32600],
    ['named parameters', { id: 1, method: 'eth_chainId', params: { a: 1 } }, -32602],
    ['an unknown method', { id: 1, method: 'eth_nonsense' }, -32601],
  ])('refuses %s with the code of the standard', async (_, body, code) => {
    const { url } = await startNode();
    expect((await post(url, body)).body).toMatchObject({ error: { code } });
  });

  it('refuses a body beyond 5 MB with 413', async () => {
    const { url } = await startNode();
    const { status, body } = await post(url, `"${'x'.repeat(6_000_000)}"`);
    expect([status, body]).toMatchObject([413, { error: { code: -32600 } }]);
  });

  it('refuses what a web page could send: another content type, a foreign host name', async () => {
    const { url } = await startNode();
    expect((await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    expect((await fetch(url)).status).toBe(405);
    expect(await statusFor(url, { host: 'evil.example', 'content-type': 'application/json' })).toBe(403);
  });

  it.each(['hardhat_setBalance', 'evm_mine', 'evm_snapshot', 'anvil_reorg', 'debug_traceCall', 'eth_sendTransaction', 'eth_subscribe'])(
    'does not offer %s to clients',
    async (method) => {
      const { url } = await startNode();
      expect((await call(url, method, ['0x1', '0x1'])).error?.code).toBe(-32601);
    },
  );
});

describe('a refused transaction', () => {
  it.each([
    ['a nonce below the account', { nonce: 0, value: 2n }, /^nonce too low: next nonce 1, tx nonce 0$/],
    ['more value than the sender owns', { nonce: 1, value: 10n ** 22n }, /^insufficient funds for gas \* price \+ value/],
    ['too little gas', { nonce: 1, gas: 20_000n }, /^intrinsic gas too low/],
    ['more gas than a block has', { nonce: 1, gas: 70_000_000n }, /^exceeds block gas limit$/],
    ['another chain', { nonce: 1, chainId: 1 }, /^invalid sender/],
  ])('for %s says what geth says', async (_, draft, message) => {
    const node = await startNode();
    await send(node.url, { nonce: 0 });
    await node.mine(1);
    const { error } = await send(node.url, draft);
    expect(error?.code).toBe(-32000);
    expect(error?.message).toMatch(message);
  });

  it('is known when it waits already, and underpriced when it replaces one for the same fee', async () => {
    const { url } = await startNode();
    await send(url, { nonce: 0 });
    expect((await send(url, { nonce: 0 })).error).toEqual({ code: -32000, message: 'already known' });
    expect((await send(url, { nonce: 0, value: 9n })).error).toEqual({ code: -32000, message: 'replacement transaction underpriced' });
    expect((await send(url, { nonce: 0, value: 9n, maxFeePerGas: 2n * 10n ** 9n, maxPriorityFeePerGas: 20n })).error).toBeUndefined();
  });

  it('of a sender whose waiting transactions cost more than it owns is refused, and blocks go on', async () => {
    const node = await startNode();
    await send(node.url, { nonce: 0, value: 6n * 10n ** 20n });
    expect((await send(node.url, { nonce: 1, value: 6n * 10n ** 20n })).error?.message).toMatch(/^insufficient funds for gas/);
    await node.mine(1);
    expect(await node.request('eth_getTransactionCount', [alice.address, 'pending'])).toBe('0x1');
  });

  it('that is garbage is refused otherwise than one that is missing', async () => {
    const { url } = await startNode();
    expect((await call(url, 'eth_sendRawTransaction', ['0x1234'])).error).toEqual({
      code: -32000,
      message: 'transaction type not supported',
    });
    expect((await call(url, 'eth_sendRawTransaction', ['zz'])).error?.code).toBe(-32602);
    expect((await call(url, 'eth_sendRawTransaction')).error).toEqual({ code: -32602, message: 'missing value for required argument 0' });
  });
});

describe('a transaction ahead of its nonce', () => {
  it('waits in the queue until the gap closes', async () => {
    const node = await startNode();
    const { result: hash } = await send(node.url, { nonce: 1 });
    await node.mine(1);
    expect(await node.request('eth_getTransactionReceipt', [hash])).toBeNull();
    await send(node.url, { nonce: 0 });
    await node.mine(1);
    expect(await node.request('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' });
  });
});

describe('a failing call', () => {
  const error = `0x08c379a0${'20'.padStart(64, '0')}${'02'.padStart(64, '0')}${'6e6f'.padEnd(64, '0')}`;
  const panic = `0x4e487b71${'11'.padStart(64, '0')}`;

  it.each([
    ['a reason', REVERTER.code, error, { code: 3, message: 'execution reverted: no', data: error }],
    [
      'a panic',
      REVERTER.code,
      panic,
      { code: 3, message: 'execution reverted: panic: arithmetic underflow or overflow (0x11)', data: panic },
    ],
    ['nothing', REVERTER.code, '0x', { code: 3, message: 'execution reverted', data: '0x' }],
    ['a broken reason', REVERTER.code, '0x08c379a0ff', { code: 3, message: 'execution reverted', data: '0x08c379a0ff' }],
    ['a bad opcode', '0xfe', '0x', { code: -32000, message: 'invalid opcode: INVALID' }],
    ['a bad jump', '0x600056', '0x', { code: -32000, message: 'invalid jump destination' }],
  ])('with %s has the shape geth gives it, called and estimated', async (_, code, data, expected) => {
    const node = await startNode();
    await node.admin('hardhat_setCode', [OTHER, code]);
    const transaction = { from: alice.address, to: OTHER, data };
    expect((await call(node.url, 'eth_call', [transaction, 'latest'])).error).toEqual(expected);
    expect((await call(node.url, 'eth_estimateGas', [transaction])).error).toEqual(expected);
  });

  it('that runs out of gas, asks for a block of the future, or spends what is not there is an error without data', async () => {
    const node = await startNode();
    await node.admin('hardhat_setCode', [OTHER, '0x5b600056']);
    expect((await call(node.url, 'eth_call', [{ to: OTHER, gas: '0x8000' }, 'latest'])).error).toEqual({
      code: -32000,
      message: 'out of gas',
    });
    expect((await call(node.url, 'eth_call', [{ to: OTHER }, '0x999'])).error).toEqual({ code: -32000, message: 'header not found' });
    const spend = { from: OTHER, to: bob.address, value: '0x1' };
    expect((await call(node.url, 'eth_call', [spend, 'latest'])).error?.message).toMatch(/^insufficient funds for transfer/);
  });

  it('of eth_getLogs with an inverted range is an error, beyond the head it is empty', async () => {
    const { url } = await startNode();
    expect((await call(url, 'eth_getLogs', [{ fromBlock: '0x5', toBlock: '0x1' }])).error?.message).toBe('invalid block range params');
    expect((await call(url, 'eth_getLogs', [{ fromBlock: '0x500', toBlock: '0x600' }])).result).toEqual([]);
  });
});

const ABI = ['function failWith(bytes data) view returns (uint256)', 'error BadAmount(uint256 amount)'] as const;
const BAD_AMOUNT = encodeErrorResult({ abi: parseAbi(ABI), errorName: 'BadAmount', args: [42n] });

/** viem shares one socket per address and offers no public way to end it. */
async function closeSocket(url: string): Promise<void> {
  (await getWebSocketRpcClient(url, { reconnect: false, keepAlive: false })).close();
}

describe('viem, unmodified,', () => {
  it.each(['http', 'ws'])('over %s sends a transaction, waits for its receipt and decodes a custom error', async (kind) => {
    const node = await startNode({ paused: false, blockMs: 50 });
    await node.admin('hardhat_setCode', [FAILER.address, FAILER.code]);
    const socket = webSocket(node.wsUrl, { reconnect: false, keepAlive: false });
    const transport: Transport = kind === 'http' ? http(node.url) : socket;
    const client = createPublicClient({ chain: arbitrumSepolia, transport, pollingInterval: 25 });
    if (kind === 'ws') later(() => closeSocket(node.wsUrl));
    const wallet = createWalletClient({ account: alice, chain: arbitrumSepolia, transport });
    const hash = await wallet.sendTransaction({ to: bob.address, value: 5n });
    expect((await client.waitForTransactionReceipt({ hash })).status).toBe('success');
    const failure = await client
      .readContract({ address: FAILER.address, abi: parseAbi(ABI), functionName: 'failWith', args: [BAD_AMOUNT] })
      .then(
        () => null,
        (error: unknown) => (error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null),
      );
    expect((failure as ContractFunctionRevertedError | null)?.data).toMatchObject({ errorName: 'BadAmount', args: [42n] });
  });
});

describe('ethers, unmodified,', () => {
  it.each(['http', 'ws'])('over %s sends a transaction, waits for its receipt and decodes a custom error', async (kind) => {
    const node = await startNode({ paused: false, blockMs: 50 });
    await node.admin('hardhat_setCode', [FAILER.address, FAILER.code]);
    const provider =
      kind === 'http' ? new ethers.JsonRpcProvider(node.url, undefined, { pollingInterval: 25 }) : new ethers.WebSocketProvider(node.wsUrl);
    later(() => provider.destroy());
    const wallet = new ethers.Wallet(`0x${'a1'.repeat(32)}`, provider);
    const sent = await wallet.sendTransaction({ to: bob.address, value: 5n });
    expect((await sent.wait())?.status).toBe(1);
    const contract = new ethers.Contract(FAILER.address, [...ABI], provider);
    await expect(contract.getFunction('failWith').staticCall(BAD_AMOUNT)).rejects.toMatchObject({
      code: 'CALL_EXCEPTION',
      revert: { name: 'BadAmount', args: [42n] },
    });
  });
});

describe('the sandbox itself', () => {
  it('may change balances where clients may not', async () => {
    const node = await startNode();
    await node.admin('hardhat_setBalance', [OTHER, '0x7']);
    expect((await call(node.url, 'eth_getBalance', [OTHER, 'latest'])).result).toBe('0x7');
  });

  it('reads the receipts of a whole block', async () => {
    const node = await startNode();
    await call(node.url, 'eth_sendRawTransaction', [await sign({ nonce: 0 })]);
    await call(node.url, 'eth_sendRawTransaction', [await sign({ nonce: 0 }, bob)]);
    await node.mine(1);
    expect(await node.request('eth_getBlockReceipts', ['latest'])).toMatchObject([
      { transactionIndex: '0x0' },
      { transactionIndex: '0x1' },
    ]);
  });
});
