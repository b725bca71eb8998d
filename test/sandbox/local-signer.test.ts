import { privateKeyToAccount } from 'viem/accounts';
import { demoKey } from '../../core/config/relayer-keys.js';
import { localSigner } from '../../sandbox/accounts.js';

describe('an account of the sandbox', () => {
  const transaction = { type: 'eip1559', chainId: 421_614, nonce: 7, gas: 21_000n, maxFeePerGas: 10n ** 9n, value: 1n } as const;
  const typed = {
    domain: { name: 'Diamond', version: '1', chainId: 421_614 },
    types: { Order: [{ name: 'size', type: 'uint256' }] },
    primaryType: 'Order',
    message: { size: 5n },
  } as const;

  it.each(['a', 'b', 'c', 'd'])('signs the same bytes as the library, key %s', async (name) => {
    const key = demoKey('signer', name);
    const [ours, theirs] = [localSigner(key), privateKeyToAccount(key)];
    expect([ours.address, ours.publicKey, ours.source, ours.type]).toEqual([theirs.address, theirs.publicKey, theirs.source, theirs.type]);
    const hash = demoKey('a hash', name);
    const to = theirs.address;
    expect([
      await ours.sign({ hash }),
      await ours.signMessage({ message: name }),
      await ours.signTypedData(typed),
      await ours.signTransaction({ ...transaction, to }),
      await ours.signTransaction({ ...transaction, to, data: '0x1234' }),
      await ours.signAuthorization({ address: to, chainId: 1, nonce: 2 }),
    ]).toEqual([
      await theirs.sign({ hash }),
      await theirs.signMessage({ message: name }),
      await theirs.signTypedData(typed),
      await theirs.signTransaction({ ...transaction, to }),
      await theirs.signTransaction({ ...transaction, to, data: '0x1234' }),
      await theirs.signAuthorization({ address: to, chainId: 1, nonce: 2 }),
    ]);
  });
});
