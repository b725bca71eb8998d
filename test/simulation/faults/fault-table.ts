import type { Random } from '../../fuzz/random.js';
import type { ReplicaName } from '../replica.js';

/** One thing that goes wrong, as data: a plan with some of them removed is a plan. */
export interface Fault {
  /** Milliseconds after the set-up. */
  readonly at: number;
  readonly kind: FaultKind;
  readonly forMs: number;
  /** Index of the replica it concerns. */
  readonly replica: number;
  /** A number whose meaning depends on the kind: a depth, a step, a price. */
  readonly amount: number;
  /** A second outcome of the kind, such as a reorganisation that loses its transactions. */
  readonly isHarsh: boolean;
}

interface Row {
  /** How long it lasts, in ms. */
  readonly forMs: readonly [number, number];
  readonly amount: readonly [number, number];
}

/** Every kind with its bounds. */
export const FAULT_TABLE = {
  'rpc-error': { forMs: [500, 12_000], amount: [0, 0] },
  'rpc-silence': { forMs: [500, 12_000], amount: [0, 0] },
  'rpc-stale-head': { forMs: [2_000, 15_000], amount: [1, 8] },
  'rpc-wrong-count': { forMs: [1_000, 40_000], amount: [-2, 2] },
  'rpc-forgets': { forMs: [500, 8_000], amount: [0, 0] },
  'rpc-answer-lost': { forMs: [500, 10_000], amount: [0, 0] },
  'rpc-underpriced': { forMs: [500, 15_000], amount: [0, 0] },
  'mining-stops': { forMs: [1_000, 15_000], amount: [0, 0] },
  'fee-spike': { forMs: [1_000, 15_000], amount: [5, 60] },
  reorganisation: { forMs: [0, 0], amount: [1, 20] },
  'oracle-silent': { forMs: [1_000, 20_000], amount: [0, 0] },
  'oracle-late': { forMs: [2_000, 15_000], amount: [1_000, 9_000] },
  'oracle-refuses': { forMs: [1_000, 10_000], amount: [0, 0] },
  'price-gap': { forMs: [0, 0], amount: [-20, 20] },
  'feed-silent': { forMs: [1_000, 15_000], amount: [0, 0] },
  'database-cut': { forMs: [0, 0], amount: [1, 6] },
  'database-cut-in-trip': { forMs: [200, 5_000], amount: [5, 60] },
  'database-serialisation': { forMs: [200, 4_000], amount: [10, 90] },
  'database-slow': { forMs: [500, 6_000], amount: [20, 2_500] },
  'database-failover': { forMs: [300, 5_000], amount: [0, 0] },
  'replica-killed': { forMs: [500, 12_000], amount: [0, 0] },
  'replica-paused': { forMs: [1_000, 60_000], amount: [0, 0] },
  'replica-restarted': { forMs: [500, 5_000], amount: [0, 0] },
  'clock-step': { forMs: [1_000, 30_000], amount: [-4_000, 4_000] },
  'clients-cut': { forMs: [200, 5_000], amount: [5, 60] },
  'operator-pause': { forMs: [1_000, 15_000], amount: [0, 0] },
  'operator-rules': { forMs: [1_000, 15_000], amount: [1, 3] },
} as const satisfies Record<string, Row>;

export type FaultKind = keyof typeof FAULT_TABLE;
export const FAULT_KINDS = Object.keys(FAULT_TABLE) as FaultKind[];

export function drawFault(random: Random, { replicas, busyMs }: { readonly replicas: number; readonly busyMs: number }): Fault {
  const kind = random.pick(FAULT_KINDS);
  const { forMs, amount } = FAULT_TABLE[kind];
  return {
    at: random.int(500, busyMs),
    kind,
    forMs: random.int(forMs[0], forMs[1]),
    replica: random.int(0, replicas - 1),
    amount: random.int(amount[0], amount[1]),
    isHarsh: random.chance(0.5),
  };
}

export const replicaName = (index: number): ReplicaName => `replica-${index + 1}` as ReplicaName;
