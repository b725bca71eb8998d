import type { Random } from '../../fuzz/random.js';
import type { ReplicaName } from '../replica.js';
import { SERVER_MOVES } from '../server-name.js';

/** One thing that goes wrong, as data: a plan with some of them removed is a plan. */
export interface Fault {
  /** Milliseconds after the set-up. */
  readonly at: number;
  /** From then on it waits for the moment in which a job or lane gets into this state. */
  readonly when: LaneState | null;
  /** Milliseconds between that moment and the fault. */
  readonly afterMs: number;
  /** It waits on while no lane is in that state: a statement may lead to several states. */
  readonly isSure?: boolean;
  /** It waits on until a lane is in that state, `empty` too, and the fault can take effect. */
  readonly isAimed?: boolean;
  readonly kind: FaultKind;
  readonly forMs: number;
  /** Index of the replica it concerns. */
  readonly replica: number;
  /** A number whose meaning depends on the kind: a depth, a step, a price. */
  readonly amount: number;
  /** A second outcome of the kind, such as a reorganisation that loses its transactions. */
  readonly isHarsh: boolean;
}

/** States of a lane: those of its open jobs, without one `empty`, and `blocked` while it does not send. */
export const LANE_STATES = ['empty', 'queued', 'assigned', 'signed', 'unknown', 'accepted', 'blocked'] as const;
export type LaneState = (typeof LANE_STATES)[number];

interface Row {
  /** How long it lasts, in ms. */
  readonly forMs: readonly [number, number];
  readonly amount: readonly [number, number];
}

/** The kinds of the first two rules. A plan is drawn from their order, so none is added or moved. */
const FIRST_KINDS = {
  'rpc-error': { forMs: [500, 12_000], amount: [0, 0] },
  'rpc-silence': { forMs: [500, 12_000], amount: [0, 0] },
  'rpc-stale-head': { forMs: [2_000, 15_000], amount: [1, 8] },
  // Longer than a doubted count is doubted, and by more than is believed at once.
  'rpc-wrong-count': { forMs: [1_000, 60_000], amount: [-3, 9] },
  'rpc-forgets': { forMs: [500, 8_000], amount: [0, 0] },
  'rpc-answer-lost': { forMs: [500, 10_000], amount: [0, 0] },
  'rpc-underpriced': { forMs: [500, 45_000], amount: [0, 0] },
  'mining-stops': { forMs: [1_000, 15_000], amount: [0, 0] },
  'fee-spike': { forMs: [1_000, 15_000], amount: [5, 60] },
  reorganisation: { forMs: [0, 0], amount: [1, 20] },
  // Up to longer than a request may stay open.
  'oracle-silent': { forMs: [1_000, 30_000], amount: [0, 0] },
  'oracle-late': { forMs: [2_000, 15_000], amount: [1_000, 9_000] },
  'oracle-refuses': { forMs: [1_000, 10_000], amount: [0, 0] },
  'oracle-twice': { forMs: [3_000, 20_000], amount: [0, 0] },
  'price-gap': { forMs: [0, 0], amount: [-20, 20] },
  'feed-silent': { forMs: [1_000, 15_000], amount: [0, 0] },
  'database-cut': { forMs: [0, 0], amount: [1, 6] },
  'database-cut-in-trip': { forMs: [200, 5_000], amount: [5, 60] },
  'database-serialisation': { forMs: [200, 4_000], amount: [10, 90] },
  // Up to longer than a silent server is waited for: then the server does what the gateway has given up.
  'database-slow': { forMs: [500, 6_000], amount: [20, 9_000] },
  'database-failover': { forMs: [300, 5_000], amount: [0, 0] },
  'replica-killed': { forMs: [500, 12_000], amount: [0, 0] },
  'replica-paused': { forMs: [1_000, 60_000], amount: [0, 0] },
  'replica-restarted': { forMs: [500, 5_000], amount: [0, 0] },
  'clock-step': { forMs: [1_000, 30_000], amount: [-4_000, 4_000] },
  'clients-cut': { forMs: [200, 5_000], amount: [5, 60] },
  'operator-pause': { forMs: [1_000, 15_000], amount: [0, 0] },
  'operator-rotates': { forMs: [2_000, 30_000], amount: [0, 0] },
  'operator-rules': { forMs: [1_000, 15_000], amount: [1, 3] },
} as const satisfies Record<string, Row>;

/** Drawn by the third rules alone. */
const LATER_KINDS = {
  // Up to longer than a used nonce is doubted.
  'rpc-late-receipts': { forMs: [2_000, 45_000], amount: [0, 0] },
  'rpc-invalid': { forMs: [500, 10_000], amount: [20, 80] },
  'branch-changes': { forMs: [2_000, 8_000], amount: [1, 20] },
  // The amount is how long it is silent before it refuses: longer than a request may stay open.
  'oracle-refuses-late': { forMs: [18_000, 28_000], amount: [13_500, 17_000] },
  'requests-taken-back': { forMs: [14_000, 28_000], amount: [0, 0] },
  'database-cut-at-answer': { forMs: [1_000, 36_000], amount: [50, 100] },
  'trader-withdraws': { forMs: [2_000, 10_000], amount: [0, 0] },
  'wallet-used-elsewhere': { forMs: [0, 0], amount: [0, 0] },
} as const satisfies Record<string, Row>;

/** Drawn by the sixth rules alone. */
const CONTRACT_KINDS = {
  // The amount says which events change, and whether the change is logged (`contract-faults.ts`).
  'contract-changed-event': { forMs: [5_000, 16_000], amount: [0, 3] },
  // While it lasts, nodes do not say which facets the Diamond has.
  'diamond-cut': { forMs: [300, 9_000], amount: [0, 0] },
} as const satisfies Record<string, Row>;

/** Drawn by the seventh rules alone. The amount says what the server says of itself from then on (`server-name.ts`). */
const LOSS_KINDS = {
  'database-copied': { forMs: [0, 0], amount: [0, 0] },
  // What was committed since the copy is lost. For so long no connection is accepted.
  'database-goes-back': { forMs: [0, 3_000], amount: [0, SERVER_MOVES.length - 1] },
  'database-emptied': { forMs: [300, 3_000], amount: [0, SERVER_MOVES.length - 1] },
  // Nothing is lost.
  'database-switched-over': { forMs: [0, 3_000], amount: [0, SERVER_MOVES.length - 1] },
} as const satisfies Record<string, Row>;

/** Every kind with its bounds. */
export const FAULT_TABLE = { ...FIRST_KINDS, ...LATER_KINDS, ...CONTRACT_KINDS, ...LOSS_KINDS };

export type FaultKind = keyof typeof FAULT_TABLE;
export const FAULT_KINDS = Object.keys(FAULT_TABLE) as FaultKind[];
const DRAWN_FIRST = Object.keys(FIRST_KINDS) as (keyof typeof FIRST_KINDS)[];
export const DRAWN_LATER = Object.keys(LATER_KINDS) as (keyof typeof LATER_KINDS)[];
/** Those of the first five rules: plans are drawn from their order and number. */
export const AIMED_KINDS: readonly FaultKind[] = [...DRAWN_FIRST, ...DRAWN_LATER];
const CONTRACT_FAULTS: ReadonlySet<FaultKind> = new Set(Object.keys(CONTRACT_KINDS) as (keyof typeof CONTRACT_KINDS)[]);
/** The contract of the run changes. */
export const changesContract = (faults: readonly Pick<Fault, 'kind'>[]): boolean => faults.some(({ kind }) => CONTRACT_FAULTS.has(kind));

const LOSS_FAULTS: ReadonlySet<FaultKind> = new Set(Object.keys(LOSS_KINDS) as (keyof typeof LOSS_KINDS)[]);
/** The database of the run is another one for a time, or another server has it. */
export const changesDatabase = (faults: readonly Pick<Fault, 'kind'>[]): boolean => faults.some(({ kind }) => LOSS_FAULTS.has(kind));

/** Most of these last for milliseconds, so a fault at any time would seldom meet them. */
export const AWAITED = LANE_STATES.filter((state) => state !== 'empty');

export interface Bounds {
  readonly replicas: number;
  readonly busyMs: number;
}

export const drawFault = (random: Random, bounds: Bounds): Fault => drawFaultOf(random.pick(DRAWN_FIRST), random, bounds);

export function drawFaultOf(kind: FaultKind, random: Random, { replicas, busyMs }: Bounds): Fault {
  const { forMs, amount } = FAULT_TABLE[kind];
  return {
    at: random.int(500, busyMs),
    when: random.chance(0.5) ? random.pick(AWAITED) : null,
    afterMs: 0,
    kind,
    forMs: random.int(forMs[0], forMs[1]),
    replica: random.int(0, replicas - 1),
    amount: random.int(amount[0], amount[1]),
    isHarsh: random.chance(0.5),
  };
}

/** What brings a lane into a state that it seldom has: the fee is above the relayer's limit, or the node's answer does not arrive. */
export const CAUSES: Partial<Record<LaneState, Pick<Fault, 'kind' | 'amount'>>> = {
  blocked: { kind: 'fee-spike', amount: 60 },
  unknown: { kind: 'rpc-answer-lost', amount: 0 },
};
const CAUSE_EARLIER_MS = 1_000;
const CAUSE_MS = [6_000, 10_000] as const;

/** For a fault that waits for such a state: another one that causes it. */
export function causeOf({ when, at, replica }: Fault, random: Random): Fault[] {
  const cause = when === null ? undefined : CAUSES[when];
  if (cause === undefined) return [];
  return [
    { ...cause, at: Math.max(500, at - CAUSE_EARLIER_MS), when: null, afterMs: 0, forMs: random.int(...CAUSE_MS), replica, isHarsh: false },
  ];
}

export const replicaName = (index: number): ReplicaName => `replica-${index + 1}` as ReplicaName;
