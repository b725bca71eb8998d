import { refuseRepeat, untilContinuityKnown, type SigningApi } from '../../../access/after-loss.js';
import type { ChainSlug } from '../../../chains/chains.js';
import type { Agent } from '../../../domain/agent.js';
import type { Clock } from '../../../ports/clock.js';
import type { ContinuityStore } from '../../../ports/stores/continuity.js';
import type { Draft } from '../../../ports/stores/orders.js';
import type { RelayJob } from '../../../ports/stores/relay.js';
import type { KeptAction } from '../../../ports/stores/signers.js';
import type { Store } from '../../../ports/store.js';
import type { ReplicaMemory } from './replica-memory.js';

type Guarded = Pick<Store, 'orders' | 'exchange' | 'relay' | 'signers' | 'access' | 'admission' | 'tracking' | 'journal'>;

/** What gives an id or a cursor, uses up a nonce or follows from either: it waits while it is not known whether the database lost commits. */
const WAITING = {
  orders: ['place', 'renew', 'prepareChange', 'recordHash', 'recordHashes', 'giveUp', 'expire'],
  exchange: ['record', 'answer'],
  relay: ['placeAndQueue', 'queue', 'queueOnce', 'queueAmend', 'assignNonces', 'fillGap', 'resetLane', 'addAttempt'],
  signers: ['claim', 'keep', 'approve', 'remove'],
  access: ['authoriseAgent', 'revokeAgent', 'saveApiKey', 'deleteApiKey'],
  tracking: ['change', 'pass'],
} as const satisfies { readonly [Aggregate in keyof Guarded]?: readonly (keyof Guarded[Aggregate])[] };

interface GuardParts {
  readonly continuity: ContinuityStore;
  readonly memory: ReplicaMemory;
  readonly clock: Clock;
}

/** The stores, with what the database acknowledges remembered. */
export function guardWrites<Given extends Guarded>(store: Given, { continuity, memory, clock }: GuardParts): Given {
  const waiting = <Methods extends object>(methods: Methods, names: readonly (keyof Methods)[], check: Check = unchecked): Methods => {
    const wrapped: Partial<Record<keyof Methods, unknown>> = {};
    for (const name of names) {
      const method = methods[name] as (...given: readonly unknown[]) => Promise<unknown>;
      wrapped[name] = (...given: readonly unknown[]): Promise<unknown> =>
        isCertain() ? method(...given) : afterDoubt(check, given).then(() => method(...given));
    }
    return { ...methods, ...wrapped };
  };

  const isCertain = (): boolean => continuity.doubt() === null && continuity.lastLoss() === null;
  async function afterDoubt(check: Check, given: readonly unknown[]): Promise<void> {
    await untilContinuityKnown(continuity, clock);
    check(given);
  }
  /** Again, because what waited here was compared with the losses that were known before. */
  const signed =
    (api: SigningApi, field: 'nonce' | 'timestamp'): Check =>
    ([first]) => {
      const signedAt = (first as Partial<Record<typeof field, bigint | number>>)[field];
      if (signedAt !== undefined) refuseRepeat(continuity.lastLoss(), signedAt, api, clock.now());
    };

  const { orders, relay, signers, access, admission, journal } = store;
  const jobs = <Jobs extends readonly RelayJob[]>(stored: Jobs): Jobs => {
    for (const { id, chain, wallet, nonce, attempts } of stored)
      memory.job({ id, chain, wallet, nonce, hash: attempts.at(-1)?.hash ?? null }, clock.now());
    return stored;
  };
  const kept = <Kept extends KeptAction | null>(action: Kept): Kept => {
    if (action) memory.action(action.action.id, action.action.actionHash, clock.now());
    return action;
  };

  const registered = <Registered extends Agent | null>(chain: ChainSlug, agent: Registered): Registered => {
    if (agent) memory.agent({ chain, agent: agent.agent, version: agent.version, createdAt: agent.createdAt }, clock.now());
    return agent;
  };

  const placed = <Outcome extends { readonly kind: string }>(outcome: Outcome, drafts: readonly Draft[]): Outcome => {
    if (outcome.kind === 'placed') for (const { chain, tag } of drafts) memory.order({ chain, tag: tag.toLowerCase() }, clock.now());
    return outcome;
  };

  return {
    ...store,
    orders: waiting(
      {
        ...orders,
        place: async (draft, others = []) => placed(await orders.place(draft, others), [draft, ...others]),
        renew: async (chain, id, draft, others = []) => placed(await orders.renew(chain, id, draft, others), [draft, ...others]),
      } satisfies typeof orders,
      WAITING.orders,
    ),
    exchange: waiting(store.exchange, WAITING.exchange),
    access: waiting(
      {
        ...access,
        authoriseAgent: async (claim, ...given) => registered(claim.chain, await access.authoriseAgent(claim, ...given)),
        revokeAgent: async (claim, ...given) => registered(claim.chain, await access.revokeAgent(claim, ...given)),
        async removeUnused(chain, agents) {
          for (const { agent } of agents) memory.dropAgent({ chain, agent });
          return access.removeUnused(chain, agents);
        },
      } satisfies typeof access,
      WAITING.access,
      signed('native', 'timestamp'),
    ),
    admission: {
      ...admission,
      async admit(window, entries) {
        const verdicts = await admission.admit(window, entries);
        const now = clock.now();
        entries.forEach(({ chain, credential, nonce, keepUntil }, at) => {
          if (nonce !== null && verdicts[at]?.isFresh === true) memory.nativeNonce({ chain, credential, nonce, keepUntil }, now);
        });
        return verdicts;
      },
      async release(entries) {
        // Before: what is given back by then is no longer there.
        for (const { chain, credential, nonce } of entries) if (nonce !== null) memory.dropNativeNonce({ chain, credential, nonce });
        await admission.release(entries);
      },
    },
    tracking: waiting(store.tracking, WAITING.tracking),
    relay: waiting(
      {
        ...relay,
        async placeAndQueue(relayed) {
          const placed = await relay.placeAndQueue(relayed);
          if (placed.kind === 'placed') jobs(placed.jobs);
          return placed;
        },
        async queue(request, at) {
          const job = await relay.queue(request, at);
          jobs([job]);
          return job;
        },
        assignNonces: async (...given) => jobs(await relay.assignNonces(...given)),
        addAttempt: async (...given) => jobs(await relay.addAttempt(...given)),
      } satisfies typeof relay,
      WAITING.relay,
    ),
    signers: waiting(
      {
        ...signers,
        async claim(claim) {
          const verdict = await signers.claim(claim);
          if (verdict.nonce?.kind === 'taken' && verdict.agent) memory.signerNonce(verdict.agent.agent, claim.nonce, clock.now());
          kept(verdict.kept);
          return verdict;
        },
        keep: async (action) => kept(await signers.keep(action)),
        async approve(approval) {
          const outcome = await signers.approve(approval);
          if (outcome.kind === 'done') memory.signerNonce(approval.registration.trader, approval.nonce, clock.now());
          return outcome;
        },
        async remove(removal) {
          const verdict = await signers.remove(removal);
          if (verdict.kind === 'taken') memory.signerNonce(removal.trader, removal.nonce, clock.now());
          return verdict;
        },
      } satisfies typeof signers,
      WAITING.signers,
      signed('facade', 'nonce'),
    ),
    journal: {
      ...journal,
      listen: (listener) =>
        journal.listen((entries) => {
          const now = clock.now();
          for (const { chain, trader, cursor, at } of entries) memory.journalEntry({ chain, trader, cursor, entryAt: at }, now);
          listener(entries);
        }),
    },
  };
}

type Check = (given: readonly unknown[]) => void;
const unchecked: Check = () => undefined;
