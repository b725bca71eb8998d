import { LANE_WAITS } from '../../core/config/relayer.js';
import { chainBySlug } from '../../core/chains/chains.js';
import type { Intent } from '../../core/domain/intent.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { RelayNode, SendVerdict } from '../../core/ports/relayer.js';
import type { Attempt, RelayJob, RelayStore } from '../../core/ports/stores/relay.js';
import { createDelivery, type Delivery } from '../../relayer/deliver.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { createManualClock } from '../harness/time/manual-clock.js';

const WALLET = `0x${'ab'.repeat(20)}` as const;
const TRADER = `0x${'12'.repeat(20)}` as const;
const CLOSE: Intent = { kind: 'close', tradeIndex: 1, expectedPrice: 10n ** 15n, slippageP: null };
const MARGIN: Intent = { kind: 'leverage', tradeIndex: 1, leverage: 5_000n };

const attempt: Attempt = { isNoOp: false, hash: '0x01', raw: '0x02', maxFeePerGas: 20n, maxPriorityFeePerGas: 2n, signedAt: 0 };

/** Signed and not yet accepted. */
const jobOf = (intent: Intent): RelayJob =>
  ({
    id: 1n,
    nonce: 7,
    state: 'signed',
    purpose: 'action',
    trader: TRADER,
    context: null,
    data: wrapFor(WALLET, TRADER, encodeIntent(intent, TRADER)),
    gas: 10n,
    attempts: [attempt],
    notAfter: null,
    acceptedAt: null,
  }) as unknown as RelayJob;

/** A delivery whose node gives these answers, then accepts; and what it did. */
function createLane(job: RelayJob, answers: readonly SendVerdict['verdict'][], hasBudget = true): { delivery: Delivery; did: string[] } {
  const did: string[] = [];
  const left = [...answers];
  const node: Partial<RelayNode> = {
    fees: () => Promise.resolve({ baseFee: 10n, priorityFee: 2n }),
    send(raw) {
      did.push(`sent ${raw}`);
      const verdict = left.shift() ?? 'accepted';
      return Promise.resolve({ verdict, note: verdict === 'accepted' ? null : 'its note' });
    },
  };
  const store: Partial<RelayStore> = {
    job: () => Promise.resolve(job),
    accept: () => Promise.resolve([{ ...job, state: 'accepted' }]),
    setState: (_chain, _id, state) => Promise.resolve((did.push(`is ${state}`), { ...job, state })),
    addAttempt: (_chain, added) => Promise.resolve(added.map((each) => ({ ...job, attempts: [...job.attempts, each.attempt] }))),
  };
  const delivery = createDelivery({
    definition: chainBySlug('base'),
    signer: {
      address: WALLET,
      sign: (_job, { maxFeePerGas }) => Promise.resolve({ hash: '0x03', raw: `0x${maxFeePerGas}` }),
      signNoOp: () => Promise.reject(new Error('no no-op is signed here')),
    },
    onRefused: () => Promise.resolve(),
    node: node as RelayNode,
    store: store as RelayStore,
    settings: { ...LANE_WAITS, maxFeePerGas: 100n },
    clock: createManualClock(),
    log: createRecordedLog(),
    onSigned: () => Promise.resolve(),
    onStep: () => undefined,
    problems: {
      report: (cause) => void did.push(`has a problem with ${cause}`),
      clear: (cause) => void did.push(`no problem with ${cause}`),
    },
    budget: { raise: (_id, cost) => (did.push(`asked for ${cost}`), hasBudget) },
    onNonceTooLow: () => void did.push('looks for receipts'),
  });
  return { delivery, did };
}

describe('what a node answers', () => {
  it.each<[SendVerdict['verdict'], string[]]>([
    ['unknown', ['has a problem with node', 'is unknown']],
    ['no-funds', ['has a problem with funds', 'is unknown']],
    ['nonce-too-low', ['no problem with node', 'is unknown', 'looks for receipts']],
    ['accepted', ['no problem with funds', 'no problem with node']],
  ])('decides what is known of the lane and of the job: %s', async (verdict, expected) => {
    const job = jobOf(CLOSE);
    const { delivery, did } = createLane(job, [verdict]);
    await delivery.handOver(job);
    expect(did).toEqual(['sent 0x02', ...expected]);
  });

  it('is kept as the cost that the wallet could not pay', async () => {
    const job = jobOf(CLOSE);
    const { delivery } = createLane(job, ['no-funds']);
    expect(delivery.wanting()).toBe(0n);
    await delivery.handOver(job);
    expect(delivery.wanting()).toBe(200n);
  });
});

describe('a transaction whose fee is too low', () => {
  it('is replaced at a higher fee as far as the budget covers it', async () => {
    const job = jobOf(MARGIN);
    const covered = createLane(job, ['underpriced']);
    await covered.delivery.handOver(job);
    expect(covered.did).toEqual(expect.arrayContaining(['asked for 230', 'sent 0x23']));
    const uncovered = createLane(job, ['underpriced'], false);
    await uncovered.delivery.handOver(job);
    expect(uncovered.did).toEqual(['sent 0x02', 'has a problem with node', 'is unknown', 'no problem with fees', 'asked for 230']);
  });

  it('is replaced without asking the budget if it closes a position', async () => {
    const job = jobOf(CLOSE);
    const { delivery, did } = createLane(job, ['underpriced'], false);
    await delivery.handOver(job);
    expect(did).toContain('sent 0x23');
    expect(did).not.toContain('asked for 230');
  });
});
