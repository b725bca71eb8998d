import { decimal } from '../../core/domain/decimal.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { formatRate } from '../format.js';
import type { Universe } from '../universe.js';

const MOST_HOURS = 500;
/** A percentage with eighteen decimals, as a fraction. */
const RATE_SCALE = 20;
const PREMIUM_SCALE = 10;

interface Query {
  readonly coin: string;
  readonly startTime: number;
  readonly endTime?: number | null | undefined;
}

/** The hours that this gateway recorded; there is no earlier data. */
export async function fundingHistory({ store }: Gateway, { definition }: Venue, { byCoin }: Universe, { coin, startTime, endTime }: Query) {
  const asset = byCoin.get(coin);
  if (!asset?.pair) return [];
  const hours = await store.facade.funding.between(definition.slug, asset.id, startTime, endTime ?? Number.MAX_SAFE_INTEGER, MOST_HOURS);
  return hours.map(({ rate, premium, time }) => ({
    coin,
    fundingRate: formatRate(decimal(rate, RATE_SCALE)),
    premium: formatRate(decimal(premium, PREMIUM_SCALE)),
    time,
  }));
}
