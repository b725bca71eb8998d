import type { AdmissionEntry, AdmissionVerdict, AdmissionStore } from '../ports/stores/access.js';
import { GatewayError } from '../errors.js';
import { measureWindow, windowStart, type LimitNumbers, type Window } from './limits.js';
import type { Clock } from '../ports/clock.js';

export interface Admitted {
  readonly windows: readonly Window[];
  /** See AdmissionVerdict. */
  readonly version: bigint | null;
  /** Null when the limit refused the request without a store call. */
  readonly isFresh: boolean | null;
}

export interface Admission {
  /** At most one round trip, shared with all requests that arrive while another one is in flight. */
  readonly admit: (entry: AdmissionEntry) => Promise<Admitted>;
}

export interface AdmissionOptions {
  readonly store: Pick<AdmissionStore, 'admit' | 'release'>;
  readonly clock: Clock;
  readonly limits: Pick<LimitNumbers, 'agent' | 'agent-writes'>;
}

interface Waiting {
  readonly entry: AdmissionEntry;
  readonly since: number;
  readonly resolve: (admitted: Admitted) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_BATCH = 1_000;
const MAX_WAITING = 20_000;
/** Half of the time a nonce is kept beyond its timestamp window; a request that waited longer could be claimed after its duplicate was deleted. */
const MAX_WAIT_MS = 15_000;

interface Used {
  readonly requests: number;
  readonly writes: number;
}

const NOTHING_USED: Used = { requests: 0, writes: 0 };
const subjectOf = ({ chain, credential }: AdmissionEntry): string => `${chain}:${credential}`;
const nonceOf = ({ chain, credential, nonce }: AdmissionEntry): string => `${chain}:${credential}:${nonce ?? ''}`;

/** Exact nonce and rate checks over all replicas with one statement per batch; a batch holds the requests that arrived during the previous one. */
export function createAdmission({ store, clock, limits }: AdmissionOptions): Admission {
  let queue: Waiting[] = [];
  let isBusy = false;
  /** The last totals from the store, for the current window only. A credential at its limit is refused without a store call. */
  let seen = { window: 0, used: new Map<string, Used>() };

  const windowsOf = ({ isWrite }: AdmissionEntry, used: Used, now: number): Window[] => [
    measureWindow('agent', limits.agent, used.requests, now),
    ...(isWrite ? [measureWindow('agent-writes', limits['agent-writes'], used.writes, now)] : []),
  ];

  const usedIn = (window: number, entry: AdmissionEntry): Used =>
    seen.window === window ? (seen.used.get(subjectOf(entry)) ?? NOTHING_USED) : NOTHING_USED;

  /** Refuses without a store call; the nonce stays unused, so the client may send the same request again. */
  const refusal = (entry: AdmissionEntry, now: number): Admitted | null => {
    const { requests, writes } = usedIn(windowStart(now), entry);
    const windows = windowsOf(entry, { requests: requests + 1, writes: writes + 1 }, now);
    return windows.some(({ isExceeded }) => isExceeded) ? { windows, version: null, isFresh: null } : null;
  };

  const remember = (window: number, entry: AdmissionEntry, { requests, writes }: Used): void => {
    if (window < seen.window) return;
    if (window > seen.window) seen = { window, used: new Map() };
    const before = seen.used.get(subjectOf(entry)) ?? NOTHING_USED;
    seen.used.set(subjectOf(entry), { requests: Math.max(requests, before.requests), writes: Math.max(writes, before.writes) });
  };

  const resolveBatch = async (batch: readonly Waiting[], verdicts: readonly AdmissionVerdict[], now: number): Promise<void> => {
    const ranks = rankBatch(batch, verdicts);
    const refused: { readonly entry: AdmissionEntry; readonly answer: () => void }[] = [];
    batch.forEach(({ entry, resolve }, index) => {
      const verdict = verdicts[index];
      const used = ranks[index];
      if (verdict === undefined || used === undefined) throw new RangeError('The store returned fewer verdicts than requests.');
      remember(windowStart(now), entry, verdict);
      const counted = verdict.isFresh ? used : usedIn(windowStart(now), entry);
      const windows = windowsOf(entry, counted, now);
      const answer = (): void => resolve({ windows, version: verdict.version, isFresh: verdict.isFresh });
      const isRefused = verdict.isFresh && entry.nonce !== null && windows.some(({ isExceeded }) => isExceeded);
      if (isRefused) refused.push({ entry, answer });
      else answer();
    });
    // The first batch of a burst can exceed a limit after its nonces are claimed. They are released, so that the client may send the same
    // request again, as after a refusal without a store call.
    if (refused.length > 0) await store.release(refused.map(({ entry }) => entry));
    for (const { answer } of refused) answer();
  };

  const run = async (): Promise<void> => {
    isBusy = true;
    while (queue.length > 0) {
      const now = clock.now();
      const { batch, twins, stale } = takeBatch(queue, now);
      queue = queue.slice(batch.length + twins.length + stale.length);
      for (const { reject } of stale) reject(overloaded());
      await admitBatch(batch, twins, now);
    }
    isBusy = false;
  };

  const admitBatch = async (batch: readonly Waiting[], twins: readonly Waiting[], now: number): Promise<void> => {
    if (batch.length === 0) return;
    try {
      await resolveBatch(
        batch,
        await store.admit(
          windowStart(now),
          batch.map(({ entry }) => entry),
        ),
        now,
      );
      for (const { entry, resolve } of twins)
        resolve({ windows: windowsOf(entry, usedIn(windowStart(now), entry), now), version: null, isFresh: false });
    } catch (error) {
      for (const { reject } of [...batch, ...twins]) reject(error);
    }
  };

  return {
    admit(entry) {
      const now = clock.now();
      const refused = refusal(entry, now);
      if (refused !== null) return Promise.resolve(refused);
      if (queue.length >= MAX_WAITING) return Promise.reject(overloaded());
      return new Promise((resolve, reject) => {
        queue.push({ entry, since: now, resolve, reject });
        if (!isBusy) void run();
      });
    },
  };
}

const overloaded = (): GatewayError => new GatewayError('NOT_READY', { reason: 'the database does not keep up' });

/** The head of the queue, in order. Twins have a nonce that is already in the batch; they are rejected as reused whatever the first one's result. */
function takeBatch(queue: readonly Waiting[], now: number): Record<'batch' | 'twins' | 'stale', Waiting[]> {
  const taken: Record<'batch' | 'twins' | 'stale', Waiting[]> = { batch: [], twins: [], stale: [] };
  const nonces = new Set<string>();
  for (const waiting of queue.slice(0, MAX_BATCH)) {
    if (now - waiting.since > MAX_WAIT_MS) {
      taken.stale.push(waiting);
      continue;
    }
    const isTwin = waiting.entry.nonce !== null && nonces.has(nonceOf(waiting.entry));
    taken[isTwin ? 'twins' : 'batch'].push(waiting);
    nonces.add(nonceOf(waiting.entry));
  }
  return taken;
}

/** The store returns totals including the batch; each request gets its own count below the total, in arrival order. */
function rankBatch(batch: readonly Waiting[], verdicts: readonly AdmissionVerdict[]): Used[] {
  const left = new Map<string, Used>();
  return batch
    .map(({ entry }, index) => ({ entry, verdict: verdicts[index] }))
    .reverse()
    .map(({ entry, verdict }) => {
      const used = left.get(subjectOf(entry)) ?? verdict ?? NOTHING_USED;
      if (verdict?.isFresh === true)
        left.set(subjectOf(entry), { requests: used.requests - 1, writes: used.writes - (entry.isWrite ? 1 : 0) });
      return used;
    })
    .reverse();
}
