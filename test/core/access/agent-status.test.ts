import { standsInTheWay } from '../../../core/access/agent-status.js';
import { currentDelegate } from '../../../core/access/delegation.js';
import type { Agent } from '../../../core/domain/agent.js';
import type { Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const [AGENT, TRADER, OTHER] = (['1', '2', '3'] as const).map((digit): Address => `0x${digit.repeat(40)}`) as [Address, Address, Address];

describe("another trader's registration of an agent", () => {
  let delegate: Address | null;
  const chain = { delegateOf: () => Promise.resolve(delegate) };
  const venueOf = (): Venue => ({ chain, clock: createManualClock(), relayer: null, definition: { slug: 'base' } }) as unknown as Venue;
  const agent = { agent: AGENT, trader: TRADER, mode: 'self', revokedAt: null, scope: { expiresAt: null } } as unknown as Agent;
  const judge = (venue: Venue, hasSigned = false): Promise<boolean> =>
    standsInTheWay({ venues: new Map([['base', venue]]) }, { chain: 'base', agent, hasSigned });

  it('stands in the way while the agent is its delegate now, whatever was read a moment ago', async () => {
    const venue = venueOf();
    delegate = AGENT;
    await currentDelegate(venue, TRADER);
    delegate = OTHER;
    expect(await judge(venue)).toBe(false);
    delegate = AGENT;
    expect(await judge(venue)).toBe(true);
  });

  it('stands in the way for ever once the agent has signed for it, and never on a chain that is not served', async () => {
    delegate = null;
    expect(await judge(venueOf(), true)).toBe(true);
    delegate = AGENT;
    expect(await standsInTheWay({ venues: new Map() }, { chain: 'base', agent, hasSigned: false })).toBe(false);
  });
});
