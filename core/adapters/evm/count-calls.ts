import { createHistogram, type Histogram } from '../../observability/histogram.js';
import type { MethodTraffic } from '../../ports/chain.js';
import type { RpcAnswer, RpcCall } from './rpc-exchange.js';

/** Seconds, upper ends. */
const BOUNDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3, 8] as const;

interface Slot {
  answered: number;
  refused: number;
  failed: number;
  readonly seconds: Histogram;
}

export interface CallCounter {
  /** `answers: null` = the node did not answer. */
  count(calls: readonly RpcCall[], answers: readonly RpcAnswer[] | null, ms: number): void;
  methods(): readonly MethodTraffic[];
}

/** Only our own code chooses methods, so their number is bounded. */
export function createCallCounter(): CallCounter {
  const slots = new Map<string, Slot>();
  const slotOf = (method: string): Slot => {
    const known = slots.get(method);
    if (known) return known;
    const made = { answered: 0, refused: 0, failed: 0, seconds: createHistogram(BOUNDS) };
    slots.set(method, made);
    return made;
  };
  return {
    count(calls, answers, ms) {
      for (const [at, { method }] of calls.entries()) {
        const slot = slotOf(method);
        const answer = answers?.[at];
        if (answer === undefined) slot.failed += 1;
        else if ('error' in answer) slot.refused += 1;
        else slot.answered += 1;
        slot.seconds.observe(ms / 1_000);
      }
    },
    methods: () => [...slots].map(([method, slot]) => ({ method, ...slot })),
  };
}
