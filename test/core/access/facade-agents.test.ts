import { agentNameTag, approveFacadeAgent, type FacadeApproval, type FacadeApprovalOutcome } from '../../../core/access/facade-agents.js';
import { chainBySlug } from '../../../core/chains/chains.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const address = (digit: string): Address => `0x${digit.repeat(40)}`;
const [TRADER, AGENT, FIRST, SECOND] = [address('1'), address('2'), address('a'), address('b')];

interface World {
  /** Addresses that have money here. */
  readonly rich: readonly Address[];
  /** Addresses that trade for themselves. */
  readonly traders: readonly Address[];
}

/** Decides on an approval where the chain and the store say this; and what was stored. */
async function approve(
  changes: Partial<FacadeApproval>,
  { rich, traders }: World = { rich: [TRADER], traders: [TRADER] },
): Promise<{ outcome: FacadeApprovalOutcome; stored: string[] }> {
  const clock = createManualClock();
  const stored: string[] = [];
  const relayer = { wallets: () => [FIRST, SECOND], walletFor: () => Promise.resolve(FIRST) };
  const chain = {
    delegateOf: () => Promise.resolve(null),
    nativeBalance: (of: Address) => Promise.resolve(rich.includes(of) ? 1n : 0n),
    accountFacts: () => Promise.resolve({ tokens: [] }),
  };
  const feed = { config: () => ({ collaterals: [] }) };
  const venue = { definition: chainBySlug('base'), relayer, chain, clock, feed } as unknown as Venue;
  const store = {
    continuity: { lastLoss: () => null },
    rules: { accessOf: () => Promise.resolve('may') },
    access: {
      listAgents: (_chain: string, of: Address) => Promise.resolve(traders.includes(of) ? [{}] : []),
      claimsOn: () => Promise.resolve([]),
    },
    facade: { history: { isKnown: () => Promise.resolve(false) } },
    signers: {
      approve: ({ registration }: { registration: object }) => {
        stored.push('agent');
        return Promise.resolve({ kind: 'done', agent: { ...registration, revokedAt: null } });
      },
      remove: ({ name }: { name: string }) => Promise.resolve((stored.push(`removal of ${name}`), { kind: 'taken' })),
    },
  };
  const gateway = { store, facade: { rules: { rules: {}, allowed: null, blocked: new Set() } } } as unknown as Gateway;
  const approval: FacadeApproval = {
    trader: TRADER,
    agent: AGENT,
    name: agentNameTag(venue) ?? '',
    network: 'Mainnet',
    nonce: BigInt(clock.now()),
    signatureChainId: 1n,
    signature: { compact: new Uint8Array(64), yParity: 0 },
    ...changes,
  };
  return { outcome: await approveFacadeAgent(gateway, venue, approval), stored };
}

it("the tag of an agent's name is that of the wallet which is published", () => {
  const definition = chainBySlug('base');
  const tagOf = (...wallets: Address[]): string | null =>
    agentNameTag({ definition, relayer: { wallets: () => wallets } as unknown as Venue['relayer'] });
  expect(tagOf(FIRST, SECOND)).toMatch(/^gw[0-9a-f]{6}$/);
  expect(tagOf(FIRST, SECOND)).toBe(tagOf(FIRST));
  expect(tagOf(FIRST)).not.toBe(tagOf(SECOND));
  expect(agentNameTag({ definition, relayer: null })).toBeNull();
});

describe('an approval of an agent', () => {
  it('is stored, and answered with the delegation that is still missing', async () => {
    const { outcome, stored } = await approve({});
    expect([outcome, stored]).toMatchObject([{ kind: 'approved', delegationTx: { chainId: 8453 } }, ['agent']]);
  });

  it('for the zero address removes the agent of that name', async () => {
    const { outcome: refusal } = await approve({ name: 'untagged' });
    const tag = refusal.kind === 'not-for-us' ? refusal.tag : '';
    expect(tag).toMatch(/^gw/);
    const { outcome, stored } = await approve({ agent: address('0'), name: `${tag}bot` });
    expect([outcome, stored]).toEqual([{ kind: 'removed' }, [`removal of ${tag}bot`]]);
  });

  it('is refused for a trader that owns nothing here', async () => {
    expect(await approve({}, { rich: [], traders: [] })).toEqual({ outcome: { kind: 'no-account' }, stored: [] });
  });

  it('is refused for an agent that trades for itself, unless it is the trader', async () => {
    expect(await approve({}, { rich: [TRADER], traders: [AGENT] })).toEqual({ outcome: { kind: 'used' }, stored: [] });
    expect((await approve({ agent: TRADER })).stored).toEqual(['agent']);
  });
});
