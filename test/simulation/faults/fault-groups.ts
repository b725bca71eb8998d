import type { Random } from '../../fuzz/random.js';
import {
  AIMED_KINDS,
  AWAITED,
  CAUSES,
  DRAWN_LATER,
  drawFaultOf,
  LANE_STATES,
  type Bounds,
  type Fault,
  type FaultKind,
  type LaneState,
} from './fault-table.js';

/** A fault of a group: what is not said is drawn. */
interface Member extends Partial<Pick<Fault, 'when' | 'afterMs' | 'forMs' | 'amount' | 'isHarsh'>> {
  readonly kind: FaultKind;
  /** It concerns every replica: which of them sends is not known beforehand. */
  readonly isEverywhere?: boolean;
}

/** What a client does for it: an order of the facade goes through the relayer's first wallet. */
export interface GroupAction {
  /** Milliseconds after the group begins. */
  readonly inMs: number;
  readonly api: 'facade' | 'native';
  readonly kind: string;
}

interface Group {
  /** Rows of the transition tables that chance alone does not reach. */
  readonly reaches: readonly string[];
  readonly faults: readonly Member[];
  readonly actions: readonly GroupAction[];
  readonly needsReplicas?: number;
}

const order = (inMs = 100): GroupAction => ({ inMs, api: 'facade', kind: 'open' });

const lostAnswers: Member = { kind: 'rpc-answer-lost', when: 'assigned', forMs: 6_000, isHarsh: false, isEverywhere: true };
const notStored: Member = {
  kind: 'database-cut-at-answer',
  when: 'assigned',
  forMs: 5_000,
  amount: 100,
  isHarsh: false,
  isEverywhere: true,
};
const lateReceipts: Member = { kind: 'rpc-late-receipts', when: 'assigned', forMs: 36_000, isEverywhere: true };
const invalid: Member = { kind: 'rpc-invalid', when: 'assigned', forMs: 3_000, amount: 75, isEverywhere: true };
const withdraws: Member = { kind: 'trader-withdraws', when: 'signed', forMs: 4_000 };
/** The transactions of a job are in a block by then. */
const MINED_MS = 4_600;
/** Deep enough for the block of the job. */
const branch = (turn: number): Member => ({
  kind: 'branch-changes',
  when: 'assigned',
  afterMs: MINED_MS + turn * 2_600,
  forMs: 2_000,
  amount: 8 + turn * 4,
});
const reorganisation: Member = { kind: 'reorganisation', when: 'assigned', afterMs: MINED_MS, amount: 8, isHarsh: true };

const GROUPS: readonly Group[] = [
  { reaches: ['job unknown reverted'], faults: [lostAnswers, withdraws], actions: [order()] },
  { reaches: ['job signed reverted'], faults: [notStored, withdraws], actions: [order()] },
  {
    // Nonces that were skipped because of the count are used up by no-ops.
    reaches: ['job signed replaced'],
    faults: [
      { kind: 'rpc-wrong-count', when: 'assigned', forMs: 5_000, amount: 2, isEverywhere: true },
      { ...notStored, afterMs: 5_000, forMs: 6_000 },
    ],
    actions: [order(), order(3_000)],
  },
  { reaches: ['job unknown replaced'], faults: [lostAnswers, { ...invalid, forMs: 5_000 }], actions: [order()] },
  { reaches: ['job replaced unknown'], faults: [invalid, reorganisation], actions: [order()] },
  { reaches: ['job reverted unknown'], faults: [withdraws, reorganisation], actions: [order()] },
  {
    reaches: ['job mined replaced', 'job replaced mined', 'job replaced reverted', 'job reverted replaced'],
    faults: [{ ...invalid, isHarsh: true }, ...[0, 1, 2, 3].map(branch)],
    actions: [order()],
  },
  { reaches: ['job mined reverted', 'job reverted mined'], faults: [0, 1, 2].map(branch), actions: [order(), order(400)] },
  {
    // The block of the other transaction is taken back after the job was given up, and a later job needs the nonce before its own.
    reaches: ['job unknown refused', 'job refused unknown'],
    faults: [
      { kind: 'wallet-used-elsewhere', when: 'signed', isHarsh: false },
      { kind: 'mining-stops', when: 'signed', afterMs: 1_200, forMs: 32_000 },
      { kind: 'reorganisation', when: 'signed', afterMs: 34_000, amount: 5, isHarsh: true },
    ],
    actions: [order(), order(35_000), order(37_000)],
  },
  { reaches: ['job accepted refused'], faults: [{ kind: 'wallet-used-elsewhere', when: 'accepted', isHarsh: false }], actions: [order()] },
  { reaches: ['job refused mined'], faults: [lateReceipts], actions: [order(), order(2_000)] },
  { reaches: ['job refused reverted'], faults: [lateReceipts, withdraws], actions: [order()] },
  { reaches: ['job refused replaced'], faults: [lateReceipts, invalid], actions: [order()] },
  {
    reaches: ['job signed refused'],
    faults: [
      { ...lateReceipts, forMs: 37_000 },
      { ...notStored, forMs: 33_500 },
    ],
    actions: [order()],
  },
  {
    // A replica that has lost its lease learns last that its node has not answered.
    reaches: ['job accepted unknown'],
    faults: [
      { kind: 'rpc-answer-lost', when: 'assigned', forMs: 6_000, isHarsh: true },
      { kind: 'mining-stops', when: 'assigned', forMs: 7_000 },
      { kind: 'database-cut', when: 'signed', afterMs: 80, amount: 12 },
    ],
    actions: [order()],
    needsReplicas: 2,
  },
  {
    reaches: ['order timed_out refused'],
    faults: [{ kind: 'oracle-refuses-late' }],
    actions: [
      { inMs: 300, api: 'native', kind: 'open' },
      { inMs: 900, api: 'native', kind: 'open' },
    ],
  },
  {
    reaches: ['order pending withdrawn'],
    faults: [{ kind: 'requests-taken-back' }],
    actions: [{ inMs: 300, api: 'native', kind: 'open' }, order(600)],
  },
  {
    reaches: ['order open amended'],
    faults: [],
    actions: [
      { inMs: 100, api: 'native', kind: 'rest' },
      { inMs: 5_000, api: 'native', kind: 'protect' },
    ],
  },
];

/** Faults with what clients do for them, from `at` on. */
export interface DrawnGroup {
  readonly at: number;
  readonly faults: readonly Fault[];
  readonly actions: readonly GroupAction[];
  readonly replicas: number;
}

export function drawGroup(random: Random, bounds: Bounds): DrawnGroup {
  const { faults, actions, needsReplicas = 1 } = random.pick(GROUPS);
  const replicas = Math.max(bounds.replicas, needsReplicas);
  const one = random.int(0, replicas - 1);
  const drawn = faults.map(({ isEverywhere = false, ...said }) => ({
    ...drawFaultOf(said.kind, random, bounds),
    when: null,
    ...said,
    replica: isEverywhere ? null : one,
  }));
  const lastsMs = Math.max(0, ...drawn.map(({ afterMs, forMs }) => afterMs + forMs), ...actions.map(({ inMs }) => inMs));
  const at = random.int(500, Math.max(500, bounds.busyMs - lastsMs - MEANWHILE_MS));
  return { at, actions, replicas, faults: drawn.flatMap((fault) => onReplicas({ ...fault, at }, replicas)) };
}

/** For an order to get from its client to the relayer. */
const MEANWHILE_MS = 3_000;

const onReplicas = ({ replica, ...fault }: Omit<Fault, 'replica'> & { readonly replica: number | null }, replicas: number): Fault[] =>
  replica === null ? Array.from({ length: replicas }, (_, each) => ({ ...fault, replica: each })) : [{ ...fault, replica }];

const CAUSE_EARLIER_MS = 1_000;
const CAUSE_MS = [6_000, 10_000] as const;
/** A statement may lead to these or to another state. */
const NOT_SURE: ReadonlySet<string> = new Set(['unknown', 'accepted', 'blocked']);

/** Kinds that are drawn nowhere else. */
const LATER_SHARE = 0.35;

/** Any kind in any state that seldom lasts, with what causes that state. */
export function drawAimedFault(random: Random, bounds: Bounds): DrawnGroup {
  const kind = random.pick(random.chance(LATER_SHARE) ? DRAWN_LATER : AIMED_KINDS);
  const when = random.pick(AWAITED);
  const at = random.int(500 + CAUSE_EARLIER_MS, Math.max(500 + CAUSE_EARLIER_MS, bounds.busyMs - CAUSE_MS[1]));
  const fault: Fault = { ...drawFaultOf(kind, random, bounds), at, when, ...(NOT_SURE.has(when) && { isSure: true }) };
  const cause = CAUSES[when];
  const causes =
    cause === undefined
      ? []
      : onReplicas(
          { ...cause, at: at - CAUSE_EARLIER_MS, when: null, afterMs: 0, forMs: random.int(...CAUSE_MS), replica: null, isHarsh: false },
          bounds.replicas,
        );
  return { at, faults: [fault, ...causes], actions: [order(), order(2_500)], replicas: bounds.replicas };
}

/** A fault kind, and the state of a lane that it shall meet. */
export interface AimedPair {
  readonly kind: FaultKind;
  readonly when: LaneState;
}

export const PAIRS: readonly AimedPair[] = AIMED_KINDS.flatMap((kind) => LANE_STATES.map((when) => ({ kind, when })));
/** It has no factor in common with the number of pairs, so as many seeds in a row meet each once, and neighbours have other kinds. */
const STRIDE = 101;

/** The two pairs of a seed. */
export const aimedPairs = (seed: number): readonly AimedPair[] =>
  [0, Math.floor(PAIRS.length / 2)].flatMap((further) => PAIRS[(seed * STRIDE + further) % PAIRS.length] ?? []);

/** What brings a lane into a state that seldom lasts, on every replica, in place of `CAUSES`: tied to the job that gets into it. */
const SURE_CAUSES: Partial<Record<LaneState, Member>> = {
  blocked: { kind: 'fee-spike', amount: 60, forMs: 9_000 },
  unknown: { kind: 'rpc-answer-lost', when: 'assigned', forMs: 6_000, isHarsh: false, isEverywhere: true },
};

export function sureCauses(random: Random, bounds: Bounds, { when, at }: { readonly when: LaneState; readonly at: number }): Fault[] {
  const { isEverywhere = false, ...cause } = SURE_CAUSES[when] ?? { kind: null };
  if (cause.kind === null) return [];
  const drawn = { ...drawFaultOf(cause.kind, random, bounds), when: null, ...cause, at: Math.max(500, at - CAUSE_EARLIER_MS) };
  return onReplicas({ ...drawn, replica: isEverywhere ? null : 0 }, bounds.replicas);
}

/** A fault of a given kind that waits until a lane is in a given state, with the cause of that state and orders that lead to it. */
export function drawSureFault(random: Random, bounds: Bounds, { pair, at }: { readonly pair: AimedPair; readonly at: number }): DrawnGroup {
  const fault: Fault = { ...drawFaultOf(pair.kind, random, bounds), ...pair, at, isAimed: true };
  const causes = sureCauses(random, bounds, { when: pair.when, at });
  // Openings may be refused, and the position may be gone: either leads to a job.
  const actions: readonly GroupAction[] =
    pair.when === 'empty'
      ? []
      : [
          { inMs: 100, api: 'facade', kind: 'guard' },
          { inMs: 1_200, api: 'facade', kind: 'open' },
          // The first jobs may be sent before the cause is noticed.
          ...(causes.length === 0 ? [] : [{ inMs: 3_500, api: 'facade', kind: 'guard' } as const]),
        ];
  return { at, faults: [fault, ...causes], actions, replicas: bounds.replicas };
}

const CHANGE_SHARE = 0.65;
/** Of what clients do for it, in the order of their times. */
const BESIDE_CHANGE: readonly GroupAction[] = [
  { inMs: 200, api: 'native', kind: 'open' },
  { inMs: 500, api: 'facade', kind: 'open' },
  { inMs: 3_000, api: 'native', kind: 'open' },
  { inMs: 6_000, api: 'facade', kind: 'open' },
  { inMs: 7_000, api: 'facade', kind: 'close' },
  { inMs: 8_000, api: 'native', kind: 'close' },
  { inMs: 10_000, api: 'facade', kind: 'guard' },
];
const AFTER_CHANGE_MS = 6_000;

/** The contract changes, in any state of a lane. Orders come when it begins, while it lasts and when it is over. */
export function drawContractFault(random: Random, bounds: Bounds): DrawnGroup {
  const kind = random.chance(CHANGE_SHARE) ? 'contract-changed-event' : 'diamond-cut';
  const at = Math.round(random.int(1_500, 18_000) * Math.min(1, bounds.busyMs / 48_000));
  const aim = random.chance(0.6) ? { when: random.pick(LANE_STATES), isAimed: true } : { when: null };
  const fault: Fault = { ...drawFaultOf(kind, random, bounds), ...aim, at };
  const again: GroupAction = { inMs: fault.forMs + AFTER_CHANGE_MS, api: random.chance(0.5) ? 'facade' : 'native', kind: 'open' };
  const actions = [...BESIDE_CHANGE, again].filter(({ inMs }) => at + inMs <= bounds.busyMs);
  return { at, faults: [fault], actions, replicas: bounds.replicas };
}
