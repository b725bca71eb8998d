import type { Random } from '../../fuzz/random.js';
import { sureCauses, type GroupAction } from './fault-groups.js';
import { drawFaultOf, LANE_STATES, type Bounds, type Fault, type FaultKind, type LaneState } from './fault-table.js';

/** A loss of commits, or switchovers that lose none, with what clients do around them. */
export interface DrawnLoss {
  readonly faults: readonly Fault[];
  /** Milliseconds after the set-up. */
  readonly actions: readonly (Omit<GroupAction, 'inMs'> & { readonly at: number })[];
  /** Clients go on at least until then. */
  readonly until: number;
  /** Clients wait until signed requests are taken again. */
  readonly isPatient: boolean;
}

const SWITCHOVER_SHARE = 0.3;
const LOSS_SHARE = 0.6;
const EMPTY_SHARE = 0.1;
const LONG_SHARE = 0.12;
/** Between the copy and the moment from which it is the database. */
const GAPS_MS = [
  [200, 1_000],
  [1_000, 5_000],
  [5_000, 20_000],
] as const;
/** A loss of a minute waits for the operator. */
const LONG_MS = [61_000, 72_000] as const;
const AIMED_SHARE = 0.6;
const MOST_AFTER_MS = 120;
/** Signed requests are taken again half a minute and a minute after a loss is noticed. */
const NATIVE_AGAIN_MS = 33_000;
const FACADE_AGAIN_MS = 64_000;
/** The others end when the lanes have been compared with the chain: a minute more takes longer to simulate than all of the rest. */
const PATIENT_SHARE = 0.25;
const AFTER_MS = 12_000;
const USUAL_BUSY_MS = 48_000;

export function drawLoss(random: Random, bounds: Bounds): DrawnLoss | null {
  const drawn = random.fraction();
  if (drawn < SWITCHOVER_SHARE) return drawSwitchovers(random, bounds);
  if (drawn >= SWITCHOVER_SHARE + LOSS_SHARE) return null;
  return random.chance(EMPTY_SHARE) ? drawEmpty(random, bounds) : drawGoingBack(random, bounds);
}

const scaled = (ms: number, { busyMs }: Bounds): number => Math.round(ms * Math.min(1, busyMs / USUAL_BUSY_MS));

interface Aimed {
  readonly kind: FaultKind;
  readonly at: number;
  /** It begins before the answer of the statement that leads to the state. */
  readonly isAtOnce?: boolean;
}

/** In a given state of a lane or, in the others, at its time. It waits until it can take effect. */
function aimed(random: Random, bounds: Bounds, { kind, at, isAtOnce = false }: Aimed): Fault[] {
  const when: LaneState | null = random.chance(AIMED_SHARE) ? random.pick(LANE_STATES) : null;
  const afterMs = isAtOnce || random.chance(0.5) ? 0 : random.int(1, MOST_AFTER_MS);
  const fault = { ...drawFaultOf(kind, random, bounds), at, when, afterMs, isAimed: true };
  return [fault, ...(when === null ? [] : sureCauses(random, bounds, { when, at }))];
}

function drawSwitchovers(random: Random, bounds: Bounds): DrawnLoss {
  const times = Array.from({ length: random.int(1, 3) }, (_, turn) => scaled(random.int(2_000, 14_000) + turn * 14_000, bounds));
  return {
    faults: times.flatMap((at) => aimed(random, bounds, { kind: 'database-switched-over', at })),
    actions: times.flatMap((at) => [
      { at: Math.max(0, at - 150), api: 'facade', kind: 'open' },
      { at: at + 100, api: 'facade', kind: 'guard' },
      { at: at + 400, api: 'native', kind: 'open' },
    ]),
    until: 0,
    isPatient: false,
  };
}

/** Orders are sent in the time that will be lost, as well as just before and after it. */
function drawGoingBack(random: Random, bounds: Bounds): DrawnLoss {
  const isLong = random.chance(LONG_SHARE);
  const [least, most] = isLong ? LONG_MS : random.pick(GAPS_MS);
  const gap = random.int(least, most);
  const copied = scaled(random.int(1_500, isLong ? 6_000 : 16_000), bounds);
  const back = copied + gap;
  const isPatient = random.chance(PATIENT_SHARE);
  const within = (share: number): number => Math.round(copied + gap * share);
  return {
    faults: [
      ...aimed(random, bounds, { kind: 'database-copied', at: copied, isAtOnce: true }),
      ...aimed(random, bounds, { kind: 'database-goes-back', at: back }),
    ],
    actions: [
      { at: Math.max(0, copied - 400), api: 'facade', kind: 'open' },
      { at: within(0.05), api: 'facade', kind: 'open' },
      { at: within(0.1), api: 'native', kind: 'open' },
      { at: within(0.2), api: 'facade', kind: 'guard' },
      { at: within(0.4), api: 'facade', kind: 'rest' },
      { at: within(0.6), api: 'facade', kind: random.pick(['open', 'close', 'cancel', 'modify']) },
      { at: Math.max(within(0.5), back - 250), api: 'facade', kind: 'open' },
      { at: back + 200, api: 'facade', kind: random.pick(['open', 'guard', 'close']) },
      ...(isPatient ? again(back) : []),
    ],
    until: back + (isPatient ? FACADE_AGAIN_MS + 8_000 : AFTER_MS),
    isPatient,
  };
}

function drawEmpty(random: Random, bounds: Bounds): DrawnLoss {
  const at = scaled(random.int(6_000, 20_000), bounds);
  return {
    faults: aimed(random, bounds, { kind: 'database-emptied', at }),
    actions: [
      { at: at - 2_000, api: 'facade', kind: 'open' },
      { at: at - 250, api: 'facade', kind: 'open' },
      { at: at - 200, api: 'facade', kind: 'guard' },
      ...again(at),
    ],
    until: at + FACADE_AGAIN_MS + 8_000,
    isPatient: true,
  };
}

const again = (from: number): DrawnLoss['actions'] => [
  { at: from + NATIVE_AGAIN_MS, api: 'native', kind: 'open' },
  { at: from + NATIVE_AGAIN_MS + 2_000, api: 'native', kind: 'close' },
  { at: from + FACADE_AGAIN_MS, api: 'facade', kind: 'open' },
  { at: from + FACADE_AGAIN_MS + 1_000, api: 'facade', kind: 'guard' },
  { at: from + FACADE_AGAIN_MS + 4_000, api: 'facade', kind: 'close' },
];
