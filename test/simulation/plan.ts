import { createRandom, type Random } from '../fuzz/random.js';
import { drawLoss } from './faults/draw-losses.js';
import { aimedPairs, drawAimedFault, drawContractFault, drawGroup, drawSureFault, type GroupAction } from './faults/fault-groups.js';
import { causeOf, drawFault, type Fault } from './faults/fault-table.js';
import { drawLevelActions, type LevelTerms } from './level-plan.js';

/** Streams of random numbers of one seed: a change of one does not move the others. */
export const STREAMS = {
  plan: 1,
  order: 2,
  latency: 3,
  faults: 4,
  clients: 5,
  bytes: 6,
  libraries: 7,
  second: 8,
  third: 9,
  fourth: 10,
  fifth: 11,
  sixth: 12,
  seventh: 13,
  replays: 14,
} as const;

/** What happens in a run, all of it drawn from the seed; the order of events at one moment is drawn separately. */
export interface Plan {
  readonly seed: number;
  /** With these it was drawn. */
  readonly options: PlanOptions & { readonly rules: Rules };
  readonly replicas: number;
  readonly hasHeadSubscription: boolean;
  /** Share of messages that take longer than no time, and the longest of them in ms. */
  readonly latency: { readonly share: number; readonly mostMs: number };
  /** Transactions of a trader in a day, after which the facade opens nothing more for it. */
  readonly dailyTransactions: number;
  /** Wallets of the relayer. */
  readonly wallets: 1 | 2;
  /** Wei that a wallet of the relayer may spend in a day. */
  readonly dailyBudget: bigint | 'unlimited';
  /** The replicas begin to follow the chain after positions and orders were made on it. */
  readonly startsLate: boolean;
  /** Milliseconds from the start of the world to the end of the UTC day; null: it does not end. */
  readonly msToMidnight: number | null;
  /** Clients act and faults begin within this time. The run ends when everything has ended. */
  readonly busyMs: number;
  /** After lost commits clients wait until signed requests are taken again. */
  readonly arePatient?: boolean;
  readonly actions: readonly ClientAction[];
  readonly faults: readonly Fault[];
}

const BOTH_KINDS = ['open', 'open-copies', 'rest', 'close', 'close-twice', 'guard'] as const;
export const FACADE_KINDS = [...BOTH_KINDS, 'modify', 'cancel', 'leverage', 'schedule'] as const;
export const NATIVE_KINDS = [...BOTH_KINDS, 'amend', 'cancel', 'abandon', 'resume', 'starve'] as const;

export interface ClientAction {
  /** Milliseconds after the set-up. */
  readonly at: number;
  readonly api: 'facade' | 'native';
  /** Index of the bot at that api. Of the native API, those after the last are the wallets of the facade's traders, in their order. */
  readonly bot: number;
  readonly kind: string;
  readonly isBuy: boolean;
  readonly size: string;
  /** 0 to 1, for choices among what the bot has by then. */
  readonly choice: number;
  /** Of an action with a take profit or stop loss, by the fourth rules. */
  readonly level?: LevelTerms;
}

export const BOTS = { facade: 3, native: 2 } as const;
const RUN_MS = 60_000;
/** How long a prepared order can be sent. */
export const PREPARED_MS = 15_000;
/** Share of the run in which clients act; in the rest everything ends. */
const BUSY_SHARE = 0.8;
const MOST_ACTIONS = 30;
const MOST_DRAWN = 22;
const LEAST_DRAWN = 8;
const MOST_FAULTS = 5;
/** Enough for two openings at the usual fee. */
const SMALL_BUDGET = 2n * 10n ** 15n;
/** Long enough for a transaction to reach the node, and for its answer to come back. */
const MOST_AFTER_MS = 120;
/** The set-up takes less; clients act and faults begin on both days. */
const MIDNIGHT_MS = [8_000, 50_000] as const;

/** A plan that is a part of a drawn one: indexes of the faults and actions that are kept; absent: all. */
export interface Cutting extends PlanOptions {
  readonly seed: number;
  readonly faults?: readonly number[];
  readonly actions?: readonly number[];
}

export function cutPlan({ seed, faults, actions, ...options }: Cutting): Plan {
  const plan = drawPlan(seed, options);
  return {
    ...plan,
    faults: faults === undefined ? plan.faults : plan.faults.filter((_, at) => faults.includes(at)),
    actions: actions === undefined ? plan.actions : plan.actions.filter((_, at) => actions.includes(at)),
  };
}

export const RULES = [1, 2, 3, 4, 5, 6, 7] as const;
export type Rules = (typeof RULES)[number];

export interface PlanOptions {
  /** Absent: drawn. */
  readonly replicas?: number;
  readonly areFaultsOff?: boolean;
  /** Simulated time after the set-up. */
  readonly runMs?: number;
  /** The rules it is drawn by: a plan that showed a defect is drawn by those of its time. */
  readonly rules?: Rules;
}

export function drawPlan(seed: number, options: PlanOptions = {}): Plan {
  const { replicas, areFaultsOff = false, runMs = RUN_MS, rules = 7 } = options;
  const busyMs = Math.round(runMs * BUSY_SHARE);
  const random = createRandom(seed, STREAMS.plan);
  const count = random.int(1, 3);
  const hasHeadSubscription = random.chance(0.5);
  const latency = random.pick([
    { share: 0, mostMs: 0 },
    { share: 0.2, mostMs: 15 },
    { share: 0.5, mostMs: 60 },
  ]);
  const drawn = Array.from({ length: random.int(LEAST_DRAWN, MOST_DRAWN) }, () => drawAction(random, busyMs));
  const followed = drawn.flatMap((action) => followedBy(action)).filter(({ at }) => at < busyMs);
  const actions = [...drawn, ...followed].slice(0, MOST_ACTIONS).sort((a, b) => a.at - b.at);
  const faults = Array.from({ length: random.int(1, MOST_FAULTS) }, () => drawFault(random, { replicas: replicas ?? count, busyMs }));
  const dailyTransactions = random.pick([2, 5, 1_000, 1_000]);
  const wallets = random.pick([1, 1, 2] as const);
  const dailyBudget = random.pick([SMALL_BUDGET, 3n * SMALL_BUDGET, 'unlimited', 'unlimited', 'unlimited'] as const);
  const plan: Plan = {
    seed,
    options: { ...options, rules },
    replicas: replicas ?? count,
    hasHeadSubscription,
    latency,
    dailyTransactions,
    wallets,
    dailyBudget,
    startsLate: false,
    msToMidnight: null,
    busyMs,
    actions,
    faults: faults.sort((a, b) => a.at - b.at),
  };
  const second = rules === 1 ? plan : drawSecond(plan, createRandom(seed, STREAMS.second));
  const randomThird = createRandom(seed, STREAMS.third);
  const isGroup = randomThird.chance(GROUP_SHARE);
  const third = rules < 3 ? second : rules < 5 || isGroup ? drawThird(second, randomThird, isGroup) : second;
  const fourth = rules < 4 ? third : drawFourth(third, createRandom(seed, STREAMS.fourth));
  const fifth = rules < 5 ? fourth : drawFifth(fourth, createRandom(seed, STREAMS.fifth), isGroup);
  const sixth = rules < 6 ? fifth : drawSixth(fifth, createRandom(seed, STREAMS.sixth));
  const seventh = rules < 7 ? sixth : drawSeventh(sixth, createRandom(seed, STREAMS.seventh));
  return areFaultsOff ? { ...seventh, faults: [] } : seventh;
}

/** What the second rules add, from numbers of its own: the rest of the plan stays as the first rules draw it. */
function drawSecond(plan: Plan, random: Random): Plan {
  const startsLate = random.chance(0.3);
  const msToMidnight = random.chance(0.25) ? random.int(...MIDNIGHT_MS) : null;
  // An opening costs a quarter of what is reserved for it, so many have to be sent before a wallet that forgets its spending is noticed.
  const isShort = random.chance(0.2);
  const actions = plan.actions.map((action) => (isShort && action.api === 'facade' ? { ...action, kind: 'open' } : action));
  const dailyBudget = isShort ? SMALL_BUDGET / 2n : plan.dailyBudget;
  const delayed = plan.faults.map((fault) => ({ ...fault, afterMs: random.chance(0.5) ? random.int(1, MOST_AFTER_MS) : 0 }));
  const causes = delayed.flatMap((fault) => causeOf(fault, random)).slice(0, MOST_FAULTS - delayed.length);
  return { ...plan, startsLate, msToMidnight, dailyBudget, actions, faults: [...delayed, ...causes].sort((a, b) => a.at - b.at) };
}

/** Share of the plans with a group of faults for rows that are seldom reached; in the others one fault more meets a state of a lane. */
const GROUP_SHARE = 0.4;
const LEFT_BESIDE_GROUP = 2;
const LEFT_BESIDE_AIMED = 4;
/** By the fifth rules, a group and an aimed fault. */
const LEFT_BESIDE_BOTH = 1;
/** The first bot may have the second wallet. */
const GROUP_BOTS = { facade: [1, 2], native: [0, 1] } as const;

/** What the third rules add, again from numbers of its own. Some of the faults drawn before are left out for it. */
function drawThird(plan: Plan, random: Random, isGroup: boolean): Plan {
  const { at, faults, actions, replicas } = (isGroup ? drawGroup : drawAimedFault)(random, plan);
  const asked = actions.map((groupAction, turn) => clientActionOf(groupAction, at, turn, random));
  const left = plan.faults.slice(0, !isGroup ? LEFT_BESIDE_AIMED : plan.options.rules < 5 ? LEFT_BESIDE_GROUP : LEFT_BESIDE_BOTH);
  const all = [...left, ...faults].sort((a, b) => a.at - b.at);
  return {
    ...plan,
    replicas: plan.options.replicas ?? replicas,
    // Otherwise no wallet could be rotated.
    wallets: all.some(({ kind }) => kind === 'operator-rotates') ? 2 : plan.wallets,
    // The orders of a group have to be sent.
    dailyTransactions: isGroup ? 1_000 : plan.dailyTransactions,
    dailyBudget: isGroup ? 'unlimited' : plan.dailyBudget,
    actions: [...plan.actions, ...asked].sort((a, b) => a.at - b.at),
    faults: all,
  };
}

/** No order of a group of faults is this bot's. */
const LEVEL_BOT = 0;
/** Of the plans whose wallets have no budget: about a third of all. */
const LEVEL_SHARE = 0.5;
/** A position of several trades takes as many openings. */
const LEAST_DAILY_TRANSACTIONS = 5;

/**
 * What the fourth rules add: one bot of the facade builds a position of several trades, and sets, changes and cancels take profits and stop
 * losses on it; the trader's own wallet does so too. By the fifth rules they do so on orders that rest as well. These actions take the place of what that bot would do by the other rules.
 */
function drawFourth(plan: Plan, random: Random): Plan {
  if (plan.dailyBudget !== 'unlimited' || !random.chance(LEVEL_SHARE)) return plan;
  const others = plan.actions.filter(({ api, bot }) => api !== 'facade' || bot !== LEVEL_BOT);
  const drawn = drawLevelActions(random, {
    bot: LEVEL_BOT,
    wallet: BOTS.native + LEVEL_BOT,
    busyMs: plan.busyMs,
    hasResting: plan.options.rules >= 5,
  });
  return {
    ...plan,
    dailyTransactions: Math.max(plan.dailyTransactions, LEAST_DAILY_TRANSACTIONS),
    actions: [...others.slice(0, MOST_WITH_LEVELS - drawn.length), ...drawn].sort((a, b) => a.at - b.at),
  };
}

/** As many as by the third rules. */
const MOST_WITH_LEVELS = MOST_ACTIONS + 3;

/** Of the faults drawn before: two or one that are aimed take the place of the others. */
const LEFT_BESIDE_SURE = 2;
/** Milliseconds in which the aimed faults begin to wait, one after the other: each has time left to meet its state. */
const SURE_TIMES = [
  [1_500, 9_000],
  [19_000, 27_000],
] as const;

/**
 * What the fifth rules add: every plan has faults that are aimed at a state of a lane, two or, beside a group, one. Kind and state follow
 * from the seed, so that as many seeds in a row as there are pairs aim at each of them.
 */
function drawFifth(plan: Plan, random: Random, isGroup: boolean): Plan {
  const pairs = aimedPairs(plan.seed).slice(0, isGroup ? 1 : SURE_TIMES.length);
  const drawn = pairs.map((pair, turn) => {
    const [from, to] = (isGroup ? random.pick(SURE_TIMES) : SURE_TIMES[turn]) ?? SURE_TIMES[0];
    // A short plan has both in its shorter time.
    const scale = plan.busyMs / (RUN_MS * BUSY_SHARE);
    return drawSureFault(random, plan, { pair, at: Math.round(random.int(from, to) * scale) });
  });
  const asked = drawn
    .flatMap(({ at, actions }) => actions.map((each) => ({ ...sureActionOf(each, random), at: at + each.inMs })))
    .filter(({ at }) => at <= plan.busyMs);
  const faults = [...(isGroup ? plan.faults : plan.faults.slice(0, LEFT_BESIDE_SURE)), ...drawn.flatMap((each) => each.faults)];
  const withLevels = plan.actions.filter(({ level }) => level !== undefined);
  const others = plan.actions.filter(({ level }) => level === undefined);
  const room = MOST_WITH_LEVELS - withLevels.length - asked.length;
  return {
    ...plan,
    wallets: faults.some(({ kind }) => kind === 'operator-rotates') ? 2 : plan.wallets,
    actions: [...others.slice(0, room), ...withLevels, ...asked].sort((a, b) => a.at - b.at),
    faults: faults.sort((a, b) => a.at - b.at),
  };
}

/** Of the plans by the sixth rules: in the others the contract stays as it is. */
const CONTRACT_SHARE = 0.5;

/** What the sixth rules add: the contract changes. It takes the place of a fault that is not aimed, and its orders those of others. */
function drawSixth(plan: Plan, random: Random): Plan {
  if (!random.chance(CONTRACT_SHARE)) return plan;
  const { at, faults, actions } = drawContractFault(random, plan);
  const asked = actions.map((each) => ({ ...changeActionOf(each, random), at: at + each.inMs }));
  const least = plan.faults.findIndex(({ isAimed }) => isAimed !== true);
  const kept = plan.actions.filter(({ level }) => level !== undefined);
  const others = plan.actions.filter(({ level }) => level === undefined);
  return {
    ...plan,
    // The orders have to be sent.
    dailyTransactions: Math.max(plan.dailyTransactions, LEAST_DAILY_TRANSACTIONS),
    actions: [...others.slice(0, Math.max(0, MOST_WITH_LEVELS - kept.length - asked.length)), ...kept, ...asked].sort(
      (a, b) => a.at - b.at,
    ),
    faults: [...plan.faults.filter((_, place) => place !== least), ...faults].sort((a, b) => a.at - b.at),
  };
}

/**
 * What the seventh rules add: the database loses commits, or another server takes over without a loss. It takes the place of a fault that is
 * not aimed, and its orders those of others. Clients go on until signed requests are taken again.
 */
function drawSeventh(plan: Plan, random: Random): Plan {
  const drawn = drawLoss(random, plan);
  if (drawn === null) return plan;
  const asked = drawn.actions.map(({ at, ...each }) => ({ ...changeActionOf({ ...each, inMs: 0 }, random), at }));
  const least = plan.faults.findIndex(({ isAimed }) => isAimed !== true);
  const kept = plan.actions.filter(({ level }) => level !== undefined);
  const others = plan.actions.filter(({ level }) => level === undefined);
  const busyMs = Math.max(plan.busyMs, drawn.until);
  return {
    ...plan,
    busyMs,
    arePatient: drawn.isPatient,
    dailyTransactions: Math.max(plan.dailyTransactions, LEAST_DAILY_TRANSACTIONS),
    actions: [...others.slice(0, Math.max(0, MOST_WITH_LEVELS - kept.length - asked.length)), ...kept, ...asked]
      .filter(({ at }) => at <= busyMs)
      .sort((a, b) => a.at - b.at),
    faults: [...plan.faults.filter((_, place) => place !== least), ...drawn.faults]
      .filter(({ at }) => at <= busyMs)
      .sort((a, b) => a.at - b.at),
  };
}

/** The last trader of either API has a position from the start. */
const changeActionOf = ({ api, kind }: GroupAction, random: Random): Omit<ClientAction, 'at'> => ({
  api,
  bot: kind === 'open' && api === 'facade' ? random.int(1, BOTS.facade - 1) : BOTS[api] - 1,
  kind,
  isBuy: random.chance(0.5),
  size: `0.0${random.int(1, 9)}`,
  choice: random.fraction(),
});

/** The last trader has a position from the start: take profits and stop losses are sent for it even where the day's openings are used up. */
const sureActionOf = ({ api, kind }: GroupAction, random: Random): Omit<ClientAction, 'at'> => ({
  api,
  bot: kind === 'guard' ? BOTS.facade - 1 : BOTS.facade - 2,
  kind,
  isBuy: random.chance(0.5),
  size: `0.0${random.int(1, 9)}`,
  choice: random.fraction(),
});

function clientActionOf({ inMs, api, kind }: GroupAction, at: number, turn: number, random: Random): ClientAction {
  const [first, second] = GROUP_BOTS[api];
  // What follows on an order is done by its bot.
  const bot = turn === 0 || kind === 'protect' ? first : second;
  return { at: at + inMs, api, bot, kind, isBuy: random.chance(0.5), size: `0.0${random.int(1, 9)}`, choice: random.fraction() };
}

/** What the same bot does later: it comes back to an order that has expired, changes one that rests, guards a position and moves the guard. */
function followedBy(action: ClientAction): ClientAction[] {
  const { at, kind, choice, api } = action;
  const later = (ms: number, next: string): ClientAction => ({ ...action, at: at + ms + Math.floor(choice * 5_000), kind: next });
  const change = api === 'native' ? 'amend' : 'modify';
  if (kind === 'abandon') return [later(PREPARED_MS, 'resume')];
  if (kind === 'rest' && choice > 0.3) return [later(2_000, change)];
  if (kind === 'open' && choice > 0.5) return [later(3_000, 'guard'), later(9_000, change)];
  return [];
}

function drawAction(random: Random, busyMs: number): ClientAction {
  const api = random.chance(0.65) ? 'facade' : 'native';
  return {
    at: random.int(0, busyMs),
    api,
    bot: random.int(0, BOTS[api] - 1),
    kind: random.pick(api === 'facade' ? FACADE_KINDS : NATIVE_KINDS),
    isBuy: random.chance(0.5),
    size: `0.0${random.int(1, 9)}`,
    choice: random.fraction(),
  };
}
