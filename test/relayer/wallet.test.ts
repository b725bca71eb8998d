import fc from 'fast-check';
import { Wallet as EthersWallet } from 'ethers';
import { loadNativeSigning } from '../../core/adapters/crypto/load-crypto.js';
import type { Hex } from '../../core/types.js';
import { createWallet, type SigningCurve, type Unsigned } from '../../relayer/wallet.js';

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`;
const bytes = (length: number): fc.Arbitrary<Hex> => fc.uint8Array({ minLength: length, maxLength: length }).map(hex);
/** Any 32 bytes but the few that are no key, which chance does not find. */
const key = bytes(32).filter((text) => BigInt(text) > 0n && BigInt(text) < 2n ** 255n);
const amount = fc.bigInt({ min: 0n, max: 2n ** 100n });
const transaction: fc.Arbitrary<Unsigned> = fc
  .record({
    chainId: fc.integer({ min: 1, max: 2 ** 31 }),
    nonce: fc.integer({ min: 0, max: 2 ** 31 }),
    to: bytes(20),
    data: fc.uint8Array({ maxLength: 900 }).map(hex),
    gas: fc.bigInt({ min: 21_000n, max: 2n ** 40n }),
    maxPriorityFeePerGas: amount,
    above: amount,
  })
  .map(({ above, ...rest }) => ({ ...rest, maxFeePerGas: rest.maxPriorityFeePerGas + above }));

const native = await loadNativeSigning();
const curves: readonly (readonly [string, SigningCurve | null])[] = [
  ['of the library', null],
  ...(native ? [['of this machine', native] as const] : []),
];

describe.each(curves)('a wallet with the curve %s', (_which, curve) => {
  it('signs what another library signs, byte by byte', async () => {
    await fc.assert(
      fc.asyncProperty(key, transaction, async (privateKey, unsigned) => {
        const other = new EthersWallet(privateKey);
        const { gas, ...rest } = unsigned;
        const raw = await other.signTransaction({ ...rest, gasLimit: gas, type: 2, value: 0n });
        const wallet = createWallet(privateKey, curve);
        expect(wallet.address).toBe(other.address.toLowerCase());
        expect((await wallet.sign(unsigned)).raw).toBe(raw);
      }),
      { numRuns: 40 },
    );
  });

  it('names the transaction as the chain will', async () => {
    const unsigned = {
      chainId: 42161,
      nonce: 7,
      to: `0x${'ab'.repeat(20)}`,
      data: '0x1234',
      gas: 21_000n,
      maxFeePerGas: 2n,
      maxPriorityFeePerGas: 1n,
    } as const;
    const signed = await createWallet(`0x${'11'.repeat(32)}`, curve).sign(unsigned);
    const { Transaction } = await import('ethers');
    expect(Transaction.from(signed.raw).hash).toBe(signed.hash);
  });
});

it('says by a rejection that it cannot sign', async () => {
  const broken: SigningCurve = {
    keccak: (given) => given.slice(0, 32),
    sign: () => {
      throw new Error('no');
    },
  };
  const unsigned = {
    chainId: 1,
    nonce: 0,
    to: `0x${'ab'.repeat(20)}`,
    data: '0x',
    gas: 1n,
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
  } as const;
  await expect(createWallet(`0x${'11'.repeat(32)}`, broken).sign(unsigned)).rejects.toThrow('no');
});
