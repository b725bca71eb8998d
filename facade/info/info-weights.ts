import type { Gateway } from '../../core/gateway.js';
import { refuseExceeded, type Window } from '../../core/access/limits.js';
import { BYTES_PER_WEIGHT } from '../../core/stream/connection.js';

/** Hyperliquid's request weights: most bots pace themselves by these numbers. */

const LIGHT = 2;
const USUAL = 20;
const HEAVY = 60;

const WEIGHTS: ReadonlyMap<string, number> = new Map([
  ['l2Book', LIGHT],
  ['allMids', LIGHT],
  ['clearinghouseState', LIGHT],
  ['orderStatus', LIGHT],
  ['spotClearinghouseState', LIGHT],
  ['exchangeStatus', LIGHT],
  ['userRole', HEAVY],
]);

/** Long replies weigh one more per this many items. */
const ITEMS_PER_WEIGHT: ReadonlyMap<string, number> = new Map([
  ['recentTrades', 20],
  ['historicalOrders', 20],
  ['userFills', 20],
  ['userFillsByTime', 20],
  ['fundingHistory', 20],
  ['userFunding', 20],
  ['userNonFundingLedgerUpdates', 20],
  ['twapHistory', 20],
  ['userTwapSliceFills', 20],
  ['userTwapSliceFillsByTime', 20],
  ['delegatorHistory', 20],
  ['delegatorRewards', 20],
  ['candleSnapshot', 60],
]);

const weightOf = (answer: unknown, itemsPerWeight: number | undefined): number =>
  itemsPerWeight === undefined || !Array.isArray(answer) ? 0 : Math.floor(answer.length / itemsPerWeight);

export interface Scale {
  /** A long request weighs by its length, whether or not it fits a type. Throws as `weigh` does. */
  weighLength(address: string, bytes: number): void;
  /** Counts a request against its address's limit per minute. Throws when that is exceeded. */
  weigh(address: string, type: string): Window;
  /** Charges the length of a reply, which counts against later requests. */
  charge(address: string, type: string, answer: unknown): void;
}

export function createScale({ access }: Pick<Gateway, 'access'>): Scale {
  return {
    weighLength(address, bytes) {
      if (bytes >= BYTES_PER_WEIGHT) refuseExceeded([access.countWeight(address, Math.floor(bytes / BYTES_PER_WEIGHT))]);
    },
    weigh(address, type) {
      const window = access.countWeight(address, WEIGHTS.get(type) ?? USUAL);
      refuseExceeded([window]);
      return window;
    },
    charge(address, type, answer) {
      const weight = weightOf(answer, ITEMS_PER_WEIGHT.get(type));
      if (weight > 0) access.chargeWeight(address, weight);
    },
  };
}
