import { createHash } from 'node:crypto';
import type { ChainControls } from '../../../sandbox/controls.js';
import type { Hex } from '../../../core/types.js';
import type { Random } from '../../fuzz/random.js';
import type { SimulatedClock } from '../simulated-clock.js';
import { createReplays, type Replays } from './replays.js';

/** Of the market that all of them trade, before the first price gap. */
export const START_PRICE = 60_000;

/** A little further from that price. */
export const moved = (price: string): string => String(Math.round(Number(price) * (Number(price) > START_PRICE ? 1.01 : 0.99)));

/** The price of a take profit or a stop loss, by its share of the start price. */
export const levelPrice = (isLong: boolean, { isProfit, distance }: { readonly isProfit: boolean; readonly distance: number }): string =>
  String(Math.round(START_PRICE * (isProfit === isLong ? 1 + distance : 1 - distance)));

/** What every client of the simulation sees of its world. */
export interface Surroundings {
  readonly clock: SimulatedClock;
  readonly chain: ChainControls;
  /** The node as an outsider reaches it. */
  readonly nodeUrl: string;
  /** Replicas that a load balancer would offer; dead ones are refused by the network. */
  readonly urls: () => readonly string[];
  readonly random: Random;
  readonly record: ClientRecord;
  /** They wait as long as a service asks them to. */
  readonly arePatient: boolean;
}

/** What a client asked for, and every answer it has received about it. */
export interface ClientRequest {
  readonly client: string;
  readonly api: 'native' | 'facade';
  readonly trader: string;
  /** Client id or cloid. */
  readonly id: string;
  readonly kind: string;
  readonly askedAt: number;
  readonly answers: Answered[];
}

export interface Answered {
  readonly at: number;
  /** The order's number at that api; null where the answer names none. */
  readonly orderId: string | null;
  /** The status as that api words it, an error text, or `silence`. */
  readonly status: string;
}

/** An attempt of a facade's bot to cancel an order, or to replace it by another one. */
export interface CancelRequest {
  /** The order that was named. */
  readonly of: ClientRequest;
  /** What takes its place; null for a cancel. */
  readonly by: ClientRequest | null;
  readonly askedAt: number;
  /** `success`, an error text, or `silence`. */
  readonly status: string;
}

export interface ClientRecord {
  readonly requests: ClientRequest[];
  readonly cancels: CancelRequest[];
  readonly replays: Replays;
  request(request: Omit<ClientRequest, 'answers' | 'askedAt'>): ClientRequest;
  /** Counts what clients met, for the report. */
  count(what: string): void;
  readonly counts: Map<string, number>;
}

export function createClientRecord(clock: SimulatedClock): ClientRecord {
  const requests: ClientRequest[] = [];
  const counts = new Map<string, number>();
  return {
    requests,
    cancels: [],
    replays: createReplays(clock),
    counts,
    request(given) {
      const made: ClientRequest = { ...given, askedAt: clock.now(), answers: [] };
      requests.push(made);
      return made;
    },
    count: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
  };
}

/** The same key in every run. */
export const keyOf = (name: string): Hex => `0x${createHash('sha256').update(`simulation ${name}`).digest('hex')}`;
