import type { AgentCaller } from '../../../core/access/caller.js';
import { chainBySlug } from '../../../core/chains/chains.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import { forDelegate } from '../../../core/trading/prepare-transaction.js';
import { failureOf } from '../../harness/checks/failure-of.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const [TRADER, AGENT] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] as const;
const caller = { via: 'agent', trader: TRADER, agent: AGENT, sender: AGENT, mode: 'self' } as AgentCaller;

/** What a write ends with for an agent that is not the delegate, and whether the chain was asked for the delegate. */
async function endOf(work: Promise<{ readonly transaction: unknown }>): Promise<{ failure: unknown; isAsked: boolean }> {
  let isAsked = false;
  const delegateOf = () => {
    isAsked = true;
    return Promise.resolve(null);
  };
  const venue = { definition: chainBySlug('base'), chain: { delegateOf }, clock: createManualClock() } as unknown as Venue;
  return { failure: await failureOf(forDelegate(venue, caller, work)), isAsked };
}

describe('a write of an agent without delegation', () => {
  const NOT_DELEGATED = { code: 'AGENT_NOT_DELEGATED', details: { trader: TRADER, agent: AGENT, delegate: null } };

  it.each([
    ['it is refused for another reason', Promise.reject(new GatewayError('ORDER_NOT_FOUND', { id: '1' }))],
    ['it needs no transaction', Promise.resolve({ transaction: null })],
  ])('is refused for that where %s', async (_why, work) => {
    expect(await endOf(work)).toMatchObject({ failure: NOT_DELEGATED, isAsked: true });
  });

  it.each([
    ['a fault of ours', new GatewayError('INTERNAL', { requestId: '1' })],
    ['a fault of a node', new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'node' })],
    ['a bug', new TypeError('no')],
    [
      'the simulation',
      new GatewayError('AGENT_NOT_DELEGATED', {
        trader: TRADER,
        agent: AGENT,
        delegate: AGENT,
        delegationTx: { to: AGENT, data: '0x', chainId: 1 },
      }),
    ],
  ])('fails as it does, without a look at the chain, by %s', async (_what, failure) => {
    expect(await endOf(Promise.reject(failure))).toEqual({ failure, isAsked: false });
  });

  it('passes where its simulation has seen the delegate', async () => {
    expect(await endOf(Promise.resolve({ transaction: {} }))).toEqual({ failure: 'done', isAsked: false });
  });
});
