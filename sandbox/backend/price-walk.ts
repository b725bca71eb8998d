import type { Clock } from '../../core/ports/clock.js';
import type { Cancel } from '../../core/types.js';
import { parseDecimal, toUnits } from '../../core/domain/decimal.js';

export interface WalkMarket {
  readonly startPrice: string;
  /** Standard deviation in percent per day. */
  readonly volatilityPercent: number;
}

export interface Tick {
  readonly pairIndex: number;
  /** 1e10. */
  readonly price: bigint;
  /** Epoch ms. */
  readonly at: number;
}

export interface PriceWalkOptions {
  readonly seed: string;
  /** By pair index; null is a slot without a market. */
  readonly markets: readonly (WalkMarket | null)[];
  readonly clock: Clock;
  readonly tickMs?: number;
  /** Prices to continue from, for a venue that was restarted. */
  readonly startPrices?: ReadonlyMap<number, bigint>;
  /** False while no client is connected: prices then come once a second only. Default: always true. */
  readonly isWatched?: () => boolean;
  /** A closed market does not tick. Default: always open. */
  readonly isOpen?: (pairIndex: number, at: number) => boolean;
}

export interface PriceWalk {
  start(): void;
  stop(): void;
  /** Current price (1e10); throws for a slot without a market. */
  price(pairIndex: number): bigint;
  prices(): ReadonlyMap<number, bigint>;
  onTick(listener: (tick: Tick) => void): Cancel;
  /** Sets the price and holds it. */
  jump(pairIndex: number, price: bigint): void;
  /** Moves the price evenly and holds it at the end. */
  glide(pairIndex: number, price: bigint, overMs: number): void;
  /** Resumes the random walk from the current price. */
  resume(pairIndex: number): void;
  readonly seed: string;
  readonly startedAt: number;
}

type Motion = 'walk' | 'hold' | { readonly from: bigint; readonly to: bigint; readonly since: number; readonly overMs: number };

interface State {
  readonly pairIndex: number;
  readonly grid: bigint;
  /** Standard deviation of one tick's logarithmic step. */
  readonly sigma: number;
  /** Unsnapped, in 1e10 units, so that steps smaller than the grid add up. */
  level: number;
  price: bigint;
  steps: number;
  motion: Motion;
}

const DAY_MS = 86_400_000;
const TICK_MS = 250;
/** Markets take turns within a tick, so that frames carry a few pairs at a time as in production. Each turn wakes the whole gateway. */
const SLOTS = 5;
const UNWATCHED_MS = 1_000;
/** How soon a first client is noticed. */
const UNWATCHED_CHECK_MS = 250;

/** A geometric random walk per market. The n-th step of a market depends on seed, market and n alone, so equal seeds walk equal paths. */
export function createPriceWalk(options: PriceWalkOptions): PriceWalk {
  const { clock, seed, tickMs = TICK_MS, isOpen = () => true, isWatched = () => true } = options;
  const noise = createNoise(seed);
  const states = new Map(statesOf(options, tickMs).map((state) => [state.pairIndex, state]));
  const listeners = new Set<(tick: Tick) => void>();
  const startedAt = clock.now();
  let stopTimer: Cancel = () => undefined;
  let turn = 0;
  let tickedAt = startedAt;

  const stateOf = (pairIndex: number): State => {
    const state = states.get(pairIndex);
    if (!state) throw new RangeError(`no market at pair ${pairIndex}`);
    return state;
  };

  const publish = ({ pairIndex, price }: State): void => {
    for (const listener of [...listeners]) listener({ pairIndex, price, at: clock.now() });
  };

  const put = (state: State, price: bigint): void => {
    state.price = price;
    state.level = Number(price);
  };

  const step = (state: State): void => {
    if (state.motion === 'walk') {
      state.level *= Math.exp(state.sigma * noise.gaussian(state.pairIndex, state.steps) - state.sigma ** 2 / 2);
      state.steps += 1;
      state.price = snap(state.level, state.grid);
    } else if (state.motion !== 'hold') {
      const { from, to, since, overMs } = state.motion;
      const elapsed = Math.min(overMs, clock.now() - since);
      put(state, from + ((to - from) * BigInt(elapsed)) / BigInt(overMs));
      if (elapsed === overMs) state.motion = 'hold';
    }
  };

  const tick = (): void => {
    const now = clock.now();
    const isQuiet = !isWatched();
    turn = (turn + 1) % SLOTS;
    if (isQuiet && now - tickedAt < Math.max(UNWATCHED_MS, tickMs)) return;
    tickedAt = now;
    for (const state of states.values()) {
      if ((!isQuiet && state.pairIndex % SLOTS !== turn) || !isOpen(state.pairIndex, now)) continue;
      step(state);
      publish(state);
    }
  };

  return {
    seed,
    startedAt,
    start() {
      stopTimer();
      const turnMs = Math.ceil(tickMs / SLOTS);
      const next = (): void => {
        stopTimer = clock.after(isWatched() ? turnMs : Math.max(turnMs, UNWATCHED_CHECK_MS), () => {
          tick();
          next();
        });
      };
      next();
    },
    stop: () => stopTimer(),
    price: (pairIndex) => stateOf(pairIndex).price,
    prices: () => new Map([...states].map(([pairIndex, { price }]) => [pairIndex, price])),
    onTick(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    jump(pairIndex, price) {
      const state = stateOf(pairIndex);
      put(state, legal(price));
      state.motion = 'hold';
      publish(state);
    },
    glide(pairIndex, price, overMs) {
      const state = stateOf(pairIndex);
      state.motion = { from: state.price, to: legal(price), since: clock.now(), overMs: Math.max(1, Math.trunc(overMs)) };
    },
    resume(pairIndex) {
      stateOf(pairIndex).motion = 'walk';
    },
  };
}

function statesOf({ markets, startPrices }: PriceWalkOptions, tickMs: number): State[] {
  return markets.flatMap((market, pairIndex): State[] => {
    if (!market) return [];
    const start = priceUnits(market.startPrice);
    const price = startPrices?.get(pairIndex) ?? start;
    const sigma = (market.volatilityPercent / 100) * Math.sqrt(tickMs / DAY_MS);
    return [{ pairIndex, grid: gridOf(start), sigma, level: Number(price), price, steps: 0, motion: 'walk' }];
  });
}

function legal(price: bigint): bigint {
  if (price <= 0n || price > MAX_PRICE) throw new RangeError('the price does not fit the contract');
  return price;
}

/** Seeded randomness with random access: the n-th number of a stream is always the same, in whatever order it is read. */
export interface Noise {
  /** Standard normal. */
  gaussian(stream: number, n: number): number;
  /** 0 ≤ x < 1. */
  uniform(stream: number, n: number): number;
}

const TWO_32 = 2 ** 32;

function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193);
  return avalanche(hash);
}

/** The finaliser of MurmurHash3: every input bit reaches every output bit. */
function avalanche(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export function createNoise(seed: string): Noise {
  const root = hashText(seed);
  const at = (stream: number, n: number, salt: number): number =>
    avalanche(avalanche(avalanche(root ^ Math.imul(stream + 1, 0x9e3779b1)) ^ n) ^ salt);
  return {
    uniform: (stream, n) => at(stream, n, 0) / TWO_32,
    gaussian(stream, n) {
      const radius = Math.sqrt(-2 * Math.log((at(stream, n, 1) + 1) / TWO_32));
      return radius * Math.cos((2 * Math.PI * at(stream, n, 2)) / TWO_32);
    },
  };
}

/** Prices are 1e10 integers everywhere; only the random factors of the walk are floats, and they are snapped to a grid at once. */
export const PRICE_SCALE = 10;

/** The contract's oracle answers are uint56. */
export const MAX_PRICE = 2n ** 56n - 1n;

const SIGNIFICANT_DIGITS = 6;

export const priceUnits = (text: string): bigint => toUnits(parseDecimal(text), PRICE_SCALE, 'half-up');

/** The smallest step of a market: six significant digits of its start price, but never finer than the contract can say. */
export function gridOf(start: bigint): bigint {
  return 10n ** BigInt(Math.max(0, start.toString().length - SIGNIFICANT_DIGITS));
}

export function snap(units: number, grid: bigint): bigint {
  const snapped = BigInt(Math.round(units / Number(grid))) * grid;
  return snapped < grid ? grid : snapped > MAX_PRICE ? MAX_PRICE : snapped;
}
