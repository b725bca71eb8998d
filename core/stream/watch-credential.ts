import { requireActive } from '../access/agent-status.js';
import { isKeyExpired } from '../access/api-keys.js';
import { freshDelegate } from '../access/delegation.js';
import { isExpired, type Agent } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Cancel } from '../types.js';
import { createTopic } from './bus.js';

/** The credential a connection authenticated with; an API key by its hash. */
export type Credential =
  { readonly kind: 'agent'; readonly agent: Address; readonly trader: Address } | { readonly kind: 'apiKey'; readonly hash: string };

export interface CredentialWatch {
  /** Called when the credential becomes invalid. */
  listen(onLost: (reason: GatewayError) => void): Cancel;
  readonly stop: Cancel;
}

/** The contract emits no event when a delegate changes, so the delegate is polled while a connection depends on it. */
export const DELEGATE_POLL_MS = 10_000;
/** Node timers overflow above 2^31 ms. */
const LONGEST_TIMER_MS = 24 * 60 * 60 * 1000;

/** Watches a credential while connections use it: revocation through the journal, expiry by timer, delegation by polling. */
export function watchCredential(gateway: Gateway, venue: Venue, credential: Credential): CredentialWatch {
  const { clock, log } = venue;
  const topic = createTopic<GatewayError>('credential', log);
  let isStopped = false;
  let cancelExpiry: Cancel = () => undefined;

  const invalidate = (reason: GatewayError): void => {
    if (!isStopped) topic.publish(reason);
  };

  const armExpiry = ({ agent, scope }: Agent): void => {
    cancelExpiry();
    if (isStopped || scope.expiresAt === null) return;
    const { expiresAt } = scope;
    if (isExpired(scope, clock.now())) return invalidate(new GatewayError('AGENT_EXPIRED', { agent, expiresAt }));
    cancelExpiry = clock.after(Math.min(expiresAt - clock.now(), LONGEST_TIMER_MS), () => void check());
  };

  const checkAgent = (agent: Agent): boolean => {
    const isTakenOver = credential.kind === 'agent' && agent.trader !== credential.trader;
    if (isTakenOver || agent.revokedAt !== null) invalidate(new GatewayError('AGENT_REVOKED', { agent: agent.agent }));
    else armExpiry(agent);
    return !isTakenOver;
  };

  const readAgent = async (address: Address, isFresh: boolean): Promise<void> => {
    const agent = await gateway.access.agents.refresh({ chain: venue.definition.slug, agent: address });
    if (agent === null) throw new GatewayError('AGENT_UNKNOWN', { agent: address });
    if (!checkAgent(agent)) return;
    if (isFresh && agent.agent !== agent.trader) await freshDelegate(venue, agent.trader);
    await requireActive(venue, agent);
  };

  const readKey = async (hash: string): Promise<void> => {
    const known = await gateway.access.apiKeys.refresh({ chain: venue.definition.slug, hash });
    if (known === null || isKeyExpired(known, clock.now())) throw new GatewayError('API_KEY_UNKNOWN', {});
  };

  /** An unavailable node or database does not invalidate a credential. */
  const check = async (isFresh = false): Promise<void> => {
    try {
      await (credential.kind === 'agent' ? readAgent(credential.agent, isFresh) : readKey(credential.hash));
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) invalidate(refusal);
      else if (!isStopped) log.warn('stream.credential-not-read', { error });
    }
  };

  const cancels = [
    clock.every(DELEGATE_POLL_MS, () => void check(true)),
    gateway.bus.on('journal', (event) => {
      if (event.venue !== venue || credential.kind !== 'agent') return;
      for (const { fact } of event.entries) if (fact.kind === 'agent' && fact.agent.agent === credential.agent) checkAgent(fact.agent);
    }),
  ];
  void check();
  return {
    listen: topic.listen,
    stop() {
      isStopped = true;
      cancelExpiry();
      cancels.forEach((cancel) => cancel());
    },
  };
}

const refusalOf = (error: unknown): GatewayError | null => (error instanceof GatewayError && error.status < 500 ? error : null);
