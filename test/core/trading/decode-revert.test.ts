import { BaseError, RpcRequestError } from 'viem';
import { AbiCoder, Interface } from 'ethers';
import { decodeRevert, revertOf } from '../../../core/adapters/evm/simulate.js';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';

const contracts = new Interface(JSON.stringify(diamondAbi));
const declared = diamondAbi.flatMap((item) => (item.type === 'error' ? [item.name] : []));
const TOKEN = new Interface(['error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)']);
const ADDRESS = '0x1111111111111111111111111111111111111111';

const answered = (error: { code: number; message: string; data?: unknown }): Error =>
  new BaseError('wrapped', { cause: new RpcRequestError({ body: {}, url: 'http://node', error }) });

describe('what a contract says when it refuses', () => {
  it.each(declared.filter((name) => name !== 'ConflictingPendingOrder'))('is read as %s', (name) => {
    expect(decodeRevert(contracts.encodeErrorResult(name, []) as `0x${string}`)).toMatchObject({ name, args: [] });
  });

  it('keeps the figures it comes with', () => {
    const busy = contracts.encodeErrorResult('ConflictingPendingOrder', [8]) as `0x${string}`;
    expect(decodeRevert(busy)).toEqual({ name: 'ConflictingPendingOrder', args: ['8'], data: busy });
    const poor = TOKEN.encodeErrorResult('ERC20InsufficientBalance', [ADDRESS, 5n, 7n]) as `0x${string}`;
    expect(decodeRevert(poor)).toMatchObject({ name: 'ERC20InsufficientBalance', args: [ADDRESS, '5', '7'] });
  });

  it('is a sentence, a panic, nothing, or an undeclared error', () => {
    const coder = AbiCoder.defaultAbiCoder();
    const sentence = `0x08c379a0${coder.encode(['string'], ['transfer amount exceeds balance']).slice(2)}` as const;
    const panic = `0x4e487b71${coder.encode(['uint256'], [0x11]).slice(2)}` as const;
    expect(decodeRevert(sentence)).toMatchObject({ name: 'Error', args: ['transfer amount exceeds balance'] });
    expect(decodeRevert(panic)).toMatchObject({ name: 'Panic', args: ['17'] });
    expect(decodeRevert('0x')).toEqual({ name: null, args: [], data: '0x' });
    expect(decodeRevert('0x12')).toEqual({ name: null, args: [], data: '0x12' });
    expect(decodeRevert('0xdeadbeef')).toEqual({ name: null, args: [], data: '0xdeadbeef' });
    expect(decodeRevert('0x08c379a0ffff')).toMatchObject({ name: null });
  });
});

describe('a node that reports a refusal', () => {
  const data = contracts.encodeErrorResult('Paused', []);

  it.each([
    ['as geth does', { code: 3, message: 'execution reverted', data }],
    ['in an object', { code: -32015, message: 'VM execution error.', data: { data } }],
    ['behind a word', { code: -32015, message: 'VM execution error.', data: `Reverted ${data}` }],
    ['under the code of everything', { code: -32000, message: 'execution reverted', data }],
  ])('%s is understood', (_how, error) => {
    expect(revertOf(answered(error))).toMatchObject({ name: 'Paused' });
  });

  it('without a word from the contract leaves the reason open', () => {
    expect(revertOf(answered({ code: -32000, message: 'execution reverted' }))).toEqual({ name: null, args: [], data: '0x' });
    expect(revertOf(answered({ code: 3, message: '' }))).toMatchObject({ name: null });
  });

  it.each([
    ['too many requests', { code: -32005, message: 'limit exceeded' }],
    ['a node that is behind', { code: -32000, message: 'header not found' }],
    ['a node that is lost', { code: -32603, message: 'internal error' }],
  ])('is not mistaken for %s', (_what, error) => {
    expect(revertOf(answered(error))).toBeNull();
  });

  it('is not mistaken for a connection that broke', () => {
    expect(revertOf(new Error('fetch failed'))).toBeNull();
  });
});
