import { createAgent, revokeAgent } from '../../../core/access/agents.js';
import { chainBySlug } from '../../../core/chains/chains.js';
import type { Agent, AgentMode } from '../../../core/domain/agent.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { failureOf } from '../../harness/checks/failure-of.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const [TRADER, AGENT] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] as const;
const definition = chainBySlug('base');

interface World {
  readonly revoked?: Partial<Agent>;
  readonly others?: readonly Partial<Agent>[];
  readonly delegate?: Address | null;
  readonly isSigned?: boolean;
}

/** A deployment in which the trader is a contract wallet, and the clients for whom its code was asked. */
function createDeployment({ revoked = {}, others = [], delegate = null, isSigned = true }: World) {
  const clients: string[] = [];
  const agent = { agent: AGENT, trader: TRADER, mode: 'self', revokedAt: 1, ...revoked };
  const access = {
    findAgent: () => Promise.resolve(agent),
    revokeAgent: () => Promise.resolve(agent),
    listAgents: () => Promise.resolve(others),
  };
  const verdicts = {
    run: (place: { from: string }, check: () => Promise<boolean>) => {
      clients.push(place.from);
      return check();
    },
  };
  const chain = {
    hasCode: () => Promise.resolve(true),
    isValidSignature: () => Promise.resolve(isSigned),
    delegateOf: () => Promise.resolve(delegate),
  };
  const clock = createManualClock();
  const gateway = {
    serviceName: 'Service',
    access: { verdicts },
    store: { access, continuity: { lastLoss: () => null } },
  } as unknown as Gateway;
  const feed = { config: () => ({ pairs: [], collaterals: [] }) };
  const venue = { definition, chain, clock, feed, relayer: null } as unknown as Venue;
  const signed = { trader: TRADER, agent: AGENT, timestamp: clock.now(), signature: '0x01' } as const;
  return { gateway, venue, signed, clients };
}

describe('the revocation of an agent', () => {
  const offered = async (world: World): Promise<boolean> => {
    const { gateway, venue, signed } = createDeployment(world);
    return (await revokeAgent(gateway, venue, signed)).revocationTx !== null;
  };
  const relayed = (changes: Partial<Agent> = {}): { mode: AgentMode; revokedAt: number | null } => ({
    mode: 'relayed',
    revokedAt: null,
    ...changes,
  });

  it.each<[string, World, boolean]>([
    ['while the agent is the delegate', { delegate: AGENT }, true],
    ['not while another one is', { delegate: TRADER }, false],
    ['not to a trader that is its own agent', { revoked: { agent: TRADER, mode: 'relayed' } }, false],
    [
      'with the last agent of the relayer',
      { revoked: { mode: 'relayed' }, others: [relayed({ revokedAt: 1 }), relayed({ mode: 'self' })] },
      true,
    ],
    ['not while the relayer has another agent', { revoked: { mode: 'relayed' }, others: [relayed({ revokedAt: 1 }), relayed()] }, false],
  ])('offers to remove the delegate %s', async (_when, world, expected) => {
    expect(await offered(world)).toBe(expected);
  });
});

describe('a contract wallet', () => {
  const scope = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' } as const;

  it('is asked on account of the client that names it', async () => {
    const { gateway, venue, signed, clients } = createDeployment({ isSigned: false });
    const asked = { ...signed, name: '', scope, agentSignature: null };
    for (const from of ['192.0.2.1', '192.0.2.2']) {
      expect(await failureOf(createAgent(gateway, venue, { ...asked, from }))).toMatchObject({ code: 'INVALID_SIGNATURE' });
      expect(await failureOf(revokeAgent(gateway, venue, { ...signed, from }))).toMatchObject({ code: 'INVALID_SIGNATURE' });
    }
    expect(clients).toEqual(['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2']);
  });
});
