import type { RelayJob } from '../../core/ports/stores/relay.js';
import { CheckError, createSigner } from '../../relayer/signer.js';
import { createWallet } from '../../relayer/wallet.js';

const GWEI = 10n ** 9n;
const FEES = { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI };
const job = { id: 7n, nonce: 3, data: '0x12345678', gas: 500_000n } as unknown as RelayJob;

/** The contract changes while the job is checked; the check itself finds nothing. */
function signerOf(isSeen: boolean) {
  let isUncertain = false;
  return createSigner({
    wallet: createWallet(`0x${'11'.repeat(32)}`),
    definition: { chainId: 421_614, diamond: `0x${'dd'.repeat(20)}` },
    settings: { maxFeePerGas: 50n * GWEI, maxTipPerGas: GWEI, isUncertain: () => isUncertain },
    check: {
      sign: () => {
        isUncertain = isSeen;
        return Promise.resolve(null);
      },
    },
  });
}

it('signs nothing on a contract that was seen to change while the job was checked', async () => {
  await expect(signerOf(true).sign(job, FEES)).rejects.toThrow(CheckError);
  expect(await signerOf(false).sign(job, FEES)).toMatchObject({ raw: expect.stringMatching(/^0x02/) as string });
});
