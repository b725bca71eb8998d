import { traced, type Span, type Tracer } from '../tracing.js';
import type { RelayStore } from './relay-store.js';
import type { RelayNode } from './relayer.js';

/** Jobs whose trace is remembered; one that is forgotten is sent all the same, without its steps in the trace. */
const MOST_REMEMBERED = 10_000;

export interface TracedRelay {
  readonly store: RelayStore;
  readonly node: RelayNode;
  /** The wallet's signature, as a step of the job whose nonce it uses. */
  sign<Result>(wallet: string, nonce: number, work: () => Promise<Result>): Promise<Result>;
}

interface Known {
  readonly span: Span;
  readonly traits: string[];
}

/**
 * A lane works for many requests at once and in its own time; so what it does for a job is hung below the request that stored the job.
 * Where another replica owns the lane, the trace ends with the job's being stored.
 */
export function traceRelay(store: RelayStore, node: RelayNode, tracer: Tracer): TracedRelay {
  const known = new Map<bigint, Known>();
  /** By the nonce of a wallet, and by the bytes that were signed. */
  const byTrait = new Map<string, bigint>();
  const traitOf = (wallet: string, nonce: number | null): string => `${wallet} ${nonce}`;

  const learn = (id: bigint, trait: string): void => {
    const job = known.get(id);
    if (job === undefined) return;
    job.traits.push(trait);
    byTrait.set(trait, id);
  };

  const forget = (id: bigint): void => {
    for (const trait of known.get(id)?.traits ?? []) byTrait.delete(trait);
    known.delete(id);
  };

  /** Those that another replica sends are never heard of again here; they go when their turn has come. */
  const remember = (id: bigint, span: Span): void => {
    const [oldest] = known.keys();
    if (known.size >= MOST_REMEMBERED && oldest !== undefined) forget(oldest);
    known.set(id, { span, traits: [] });
  };

  const step = <Result>(id: bigint | undefined, name: string, work: () => Promise<Result>): Promise<Result> => {
    const parent = id === undefined ? undefined : known.get(id)?.span;
    return parent === undefined ? work() : traced(tracer, name, { parent, fields: { 'relay.job': String(id) } }, work);
  };

  return {
    store: {
      ...store,
      async queue(request, at, record) {
        const parent = tracer.current();
        const job = await store.queue(request, at, record);
        if (parent !== null) remember(job.id, parent);
        return job;
      },
      async placeAndQueue(relayed) {
        const parent = tracer.current();
        const placed = await store.placeAndQueue(relayed);
        if (parent !== null && placed.kind === 'placed') remember(placed.job.id, parent);
        return placed;
      },
      async number(chain, wallet, ids, atLeast) {
        const jobs = await store.number(chain, wallet, ids, atLeast);
        for (const { id, nonce } of jobs) learn(id, traitOf(wallet, nonce));
        return jobs;
      },
      async addAttempt(chain, attempts) {
        const [first] = attempts;
        const jobs = await step(first?.id, 'relay.store', () => store.addAttempt(chain, attempts));
        for (const { id, attempt } of attempts) learn(id, attempt.raw);
        return jobs;
      },
      async refuse(chain, id, refusal) {
        const job = await step(id, 'relay.refused', () => store.refuse(chain, id, refusal));
        if (job !== null) forget(id);
        return job;
      },
      async settle(chain, settled) {
        const jobs = await store.settle(chain, settled);
        for (const { id, state, acceptedAt } of jobs) {
          const parent = known.get(id)?.span;
          if (parent === undefined) continue;
          const since = acceptedAt === null ? {} : { since: acceptedAt };
          tracer.begin('relay.mined', { parent, ...since, fields: { 'relay.job': String(id), 'relay.state': state } }).end();
          forget(id);
        }
        return jobs;
      },
    },
    node: { ...node, send: (raw) => step(byTrait.get(raw), 'relay.broadcast', () => node.send(raw)) },
    sign: (wallet, nonce, work) => step(byTrait.get(traitOf(wallet, nonce)), 'relay.sign', work),
  };
}
