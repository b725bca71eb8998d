import { LRUCache } from 'lru-cache';
import { atMost } from '../caching/at-most.js';
import { traced, type Span, type Tracer } from './tracing.js';
import type { RelayJob, RelayStore } from '../ports/stores/relay.js';
import type { RelayNode } from '../ports/relayer.js';

/** Limit of jobs with a known trace; a dropped one is sent anyway, without its steps in the trace. */
const MAX_REMEMBERED = 10_000;

export interface TracedRelay {
  readonly store: RelayStore;
  readonly node: RelayNode;
  /** Traces the wallet's signature as a step of the job with this nonce. */
  sign<Result>(wallet: string, nonce: number, work: () => Promise<Result>): Promise<Result>;
}

interface Known {
  readonly span: Span;
  readonly traits: string[];
}

/**
 * A lane works for many requests at once and asynchronously, so its steps for a job are attached to the request that stored the job, on any
 * replica.
 */
export function traceRelay(store: RelayStore, node: RelayNode, tracer: Tracer): TracedRelay {
  /** By a wallet's nonce, and by signed bytes. */
  const byTrait = new Map<string, bigint>();
  const known = new LRUCache<bigint, Known>({
    ...atMost(MAX_REMEMBERED),
    dispose({ traits }, _id, reason) {
      if (reason !== 'set') for (const trait of traits) byTrait.delete(trait);
    },
  });
  const traitOf = (wallet: string, nonce: number | null): string => `${wallet} ${nonce}`;

  const learn = (id: bigint, trait: string): void => {
    const job = known.get(id);
    if (job === undefined) return;
    job.traits.push(trait);
    byTrait.set(trait, id);
  };

  /** Spans of jobs that another replica sends end when they are dropped for newer ones. */
  const remember = (id: bigint, span: Span): void => {
    // The lane may have handled the job before its store call returned.
    known.set(id, { span, traits: known.get(id)?.traits ?? [] });
  };

  /** Continues the trace of a job that another replica stored, or this one before a restart. */
  const adopt = (jobs: readonly RelayJob[]): void => {
    for (const { id, wallet, nonce, attempts, context } of jobs.filter((job) => !known.has(job.id))) {
      const traceparent = traceOf(context);
      if (traceparent === null) continue;
      const span = tracer.begin('relay.taken', { traceparent, fields: { 'relay.job': String(id) } });
      span.end();
      remember(id, span);
      if (nonce !== null) learn(id, traitOf(wallet, nonce));
      for (const { raw } of attempts) learn(id, raw);
    }
  };

  const step = <Result>(id: bigint | undefined, name: string, work: () => Promise<Result>): Promise<Result> => {
    const parent = id === undefined ? undefined : known.get(id)?.span;
    return parent === undefined ? work() : traced(tracer, name, { parent, fields: { 'relay.job': String(id) } }, work);
  };

  return {
    store: {
      ...store,
      async queue(request, at) {
        const parent = tracer.current();
        if (parent === null) return store.queue(request, at);
        const job = await store.queue(tracedBy(request, parent), at);
        remember(job.id, parent);
        return job;
      },
      async queueOnce(request, at) {
        const parent = tracer.current();
        if (parent === null) return store.queueOnce(request, at);
        const queued = await store.queueOnce(tracedBy(request, parent), at);
        if (queued.isNew) remember(queued.job.id, parent);
        return queued;
      },
      async queueAmend(request, amendment, at) {
        const parent = tracer.current();
        if (parent === null) return store.queueAmend(request, amendment, at);
        const queued = await store.queueAmend(tracedBy(request, parent), amendment, at);
        if (queued !== null && queued !== 'cloid-taken') remember(queued.job.id, parent);
        return queued;
      },
      async placeAndQueue(relayed) {
        const parent = tracer.current();
        if (parent === null) return store.placeAndQueue(relayed);
        const legs = relayed.legs.map((leg) => (leg.request === null ? leg : { ...leg, request: tracedBy(leg.request, parent) }));
        const placed = await store.placeAndQueue({ ...relayed, legs });
        if (placed.kind === 'placed') for (const { id } of placed.jobs) remember(id, parent);
        return placed;
      },
      async queued(chain, wallet, limit) {
        const jobs = await store.queued(chain, wallet, limit);
        adopt(jobs);
        return jobs;
      },
      async open(chain, wallet) {
        const jobs = await store.open(chain, wallet);
        adopt(jobs);
        return jobs;
      },
      async assignNonces(chain, wallet, ids, atLeast) {
        const jobs = await store.assignNonces(chain, wallet, ids, atLeast);
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
        if (job !== null) known.delete(id);
        return job;
      },
      async settle(chain, settled) {
        const jobs = await store.settle(chain, settled);
        for (const { id, state, acceptedAt } of jobs) {
          const parent = known.get(id)?.span;
          if (parent === undefined) continue;
          const since = acceptedAt === null ? {} : { since: acceptedAt };
          tracer.begin('relay.mined', { parent, ...since, fields: { 'relay.job': String(id), 'relay.state': state } }).end();
          known.delete(id);
        }
        return jobs;
      },
    },
    node: { ...node, send: (raw) => step(byTrait.get(raw), 'relay.broadcast', () => node.send(raw)) },
    sign: (wallet, nonce, work) => step(byTrait.get(traitOf(wallet, nonce)), 'relay.sign', work),
  };
}

const tracedBy = <Request extends { readonly context: unknown }>(request: Request, { traceparent }: Span): Request => ({
  ...request,
  context: withTrace(request.context, traceparent),
});

/** The trace of a job is stored in its context, so that it survives replicas and restarts. Decisions about jobs ignore it. */
const KEY = 'traceparent';

const isRecord = (context: unknown): context is Readonly<Record<string, unknown>> =>
  typeof context === 'object' && context !== null && !Array.isArray(context);

/** A context that is no object stays unchanged. */
const withTrace = (context: unknown, traceparent: string): unknown => (isRecord(context) ? { ...context, [KEY]: traceparent } : context);

/** Null for a job without a trace. */
function traceOf(context: unknown): string | null {
  const found = isRecord(context) ? context[KEY] : null;
  return typeof found === 'string' ? found : null;
}

/** The context as the job was created with. */
export const withoutTrace = (context: unknown): unknown =>
  isRecord(context) ? Object.fromEntries(Object.entries(context).filter(([name]) => name !== KEY)) : context;
