import { chainBySlug } from '../../core/chains/chains.js';
import type { Refusal, RelayJob, SignedAction } from '../../core/ports/stores/relay.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { Address, Hex } from '../../core/types.js';
import { createJobCheck } from '../../relayer/job-check.js';
import type { PolicySettings } from '../../relayer/policy.js';
import { createWallet } from '../../relayer/wallet.js';

const definition = chainBySlug('arbitrum-sepolia');
const TRADER: Address = `0x${'12'.repeat(20)}`;
const wallet = createWallet(`0x${'11'.repeat(32)}`);
const inner = encodeIntent({ kind: 'withdraw', tradeIndex: 1 }, TRADER);
const data = wrapFor(wallet.address, TRADER, inner);
const ACTION = { id: 4n, chain: definition.slug, trader: TRADER } as SignedAction;
const ENDED: Refusal = { reason: 'outdated', note: 'the approval of its agent has ended' };
const FORGED: Refusal = { reason: 'policy', note: 'its signature is not that of its signer' };

/** A job with the attempt of an earlier process, if the key signed one. */
async function jobOf(signed: Hex | null, changes: Partial<RelayJob> = {}): Promise<RelayJob> {
  const [gas, nonce, fees] = [1_000n, 3, { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }];
  const unsigned = { chainId: definition.chainId, nonce, to: definition.diamond, data: signed ?? '0x', gas, ...fees };
  const attempts = signed === null ? [] : [{ ...(await wallet.sign(unsigned)), ...fees, isNoOp: false, signedAt: 0 }];
  const of = { id: 7n, chain: definition.slug, wallet: wallet.address, trader: TRADER, purpose: 'action', parent: ACTION.id } as const;
  return { ...of, orderId: null, data, gas, context: { kind: 'cancel' }, state: 'signed', nonce, attempts, ...changes } as RelayJob;
}

/** What a process that has just started finds, and the jobs of which it raised the alert. */
async function judged(job: RelayJob, settings: Partial<PolicySettings>) {
  const forged: Refusal[] = [];
  const check = createJobCheck({
    ...{ definition, wallet: wallet.address, store: { action: () => Promise.resolve(ACTION) } },
    settings: { maxGas: 5_000n, reencode: () => Promise.resolve([inner]), ...settings },
    onForged: (_job, refusal) => Promise.resolve(void forged.push(refusal)),
  });
  return { refusal: await check.sign(job), forged };
}

const ended: Partial<PolicySettings> = { verify: () => ENDED };
const changed: Partial<PolicySettings> = { reencode: () => Promise.resolve('outdated') };
const unpriced: Partial<PolicySettings> = { reencode: () => Promise.resolve('no-price') };
const renamed: Partial<PolicySettings> = { reencode: () => Promise.resolve('other-referrer') };

describe('a job found after a restart', () => {
  it.each([
    ['the approval of its agent ended', ended],
    ['what it changes was changed', changed],
    ['the referrer of the settings was changed', renamed],
    ['all of it', { ...ended, ...changed }],
  ])('whose call was signed before goes on, although since then: %s', async (_since, settings) => {
    expect(await judged(await jobOf(data), settings)).toEqual({ refusal: null, forged: [] });
    for (const unsent of [null, '0x12345678'] as const)
      expect(await judged(await jobOf(unsent), settings)).toMatchObject({ refusal: { reason: 'outdated' }, forged: [] });
  });

  it('goes on without a price to measure it with where its call was signed before, and waits for one otherwise', async () => {
    expect(await judged(await jobOf(data), unpriced)).toEqual({ refusal: null, forged: [] });
    for (const unsent of [null, '0x12345678'] as const)
      await expect(judged(await jobOf(unsent), unpriced)).rejects.toThrow('no price to measure an opening with');
  });

  it.each<[string, Partial<PolicySettings>, Partial<RelayJob>, Refusal['reason']]>([
    ['its action is not signed by its signer', { verify: () => FORGED }, {}, 'policy'],
    ['its action means something else', { reencode: () => Promise.resolve([]) }, {}, 'policy'],
    ['its action means something else, and the approval ended', { ...ended, reencode: () => Promise.resolve([]) }, {}, 'policy'],
    ['its gas is above the cap, and the approval ended', ended, { gas: 6_000n }, 'gas-cap'],
    ['its trader is another one, and the approval ended', ended, { trader: wallet.address }, 'policy'],
    ['its call is another one, and the approval ended', ended, { data: '0x12345678' }, 'policy'],
    ['its nonce is another one', {}, { nonce: 4 }, 'policy'],
  ])('is stopped with an alert, also after its call was signed: %s', async (_what, settings, changes, reason) => {
    const { refusal, forged } = await judged(await jobOf(data, changes), settings);
    expect(refusal).toMatchObject({ reason });
    expect(forged).toEqual([refusal]);
  });
});
