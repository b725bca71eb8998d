import { toUnits } from '../domain/decimal.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import { fundingSnapshot } from './funding.js';
import type { Cancel } from '../types.js';
import type { FundingHour, FundingStore } from '../ports/stores/funding.js';

export const HOUR_MS = 3_600_000;
const CHECK_EVERY_MS = 20_000;
/** A rate read later than this after the full hour is not recorded for that hour. */
const LATEST_MS = 5 * 60_000;
/** Decimals of the rate in percent. */
const RATE_SCALE = 18;
const PREMIUM_UNIT = 10n ** 10n;

/** Records once an hour the funding rate for longs of every live market; the first replica writes it. */
export function recordFunding(store: FundingStore, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  let done = 0;
  const recordIfDue = async (): Promise<void> => {
    const now = clock.now();
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
    if (done === hour || now - hour > LATEST_MS) return;
    const rates = ratesOf(venue, hour);
    await store.record(definition.slug, rates);
    if (rates.length > 0) done = hour;
  };
  return clock.every(CHECK_EVERY_MS, () => void recordIfDue().catch((error: unknown) => log.warn('funding.not-recorded', { error })));
}

function ratesOf({ feed, clock }: Venue, time: number): FundingHour[] {
  const config = feed.status().ready ? feed.config() : null;
  return (config?.pairs ?? []).flatMap((pair, pairIndex) => {
    const price = pair && livePrice(feed, pairIndex);
    if (!config || !price) return [];
    const { fundingRateLongHourly } = fundingSnapshot(config, pairIndex, price, clock.now());
    const premium = ((price.mark - price.oracle) * PREMIUM_UNIT) / price.oracle;
    return [{ pairIndex, time, rate: toUnits(fundingRateLongHourly, RATE_SCALE, 'half-up'), premium }];
  });
}

function livePrice(feed: Venue['feed'], pairIndex: number) {
  try {
    return feed.price(pairIndex);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}
