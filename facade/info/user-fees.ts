import { decimal, divideInteger, multiply } from '../../core/domain/decimal.js';
import { E8 } from '../../core/domain/pricing/units.js';
import type { Venue } from '../../core/gateway.js';
import { fromNode } from '../../core/ports/chain.js';
import type { DayTotal, SeenFill } from '../../core/ports/stores/history.js';
import type { Address } from '../../core/types.js';
import { BASE_SCALE, formatRate, formatUsd, PRICE_SCALE, USD_SCALE, ZERO_TEXT } from '../format.js';
import { readFills } from './fills.js';
import type { InfoContext } from './info-type.js';

export const DAY_MS = 86_400_000;
/** A fee of 1e10 percent as a fraction. */
const FEE_SCALE = 12;
const MULTIPLIER_SCALE = 6;
const SHOWN_DAYS = 15;
/** As many as `userFills` lists: of more fills in the shown days, the earlier ones count as those of takers. */
const MOST_FILLS = 2_000;
/** Later than any block. */
const FOREVER = Number.MAX_SAFE_INTEGER;

export const totalsSince = ({ gateway, venue }: InfoContext, trader: Address, since: number): Promise<DayTotal[]> =>
  gateway.store.facade.history.totals(venue.definition.slug, trader, Math.max(0, since));

export const volumeOf = (totals: readonly DayTotal[]): bigint => totals.reduce((sum, { volumeUsd }) => sum + volumeUsd, 0n);

/** One rate for all markets: that of the first one, with the trader's discount. The contract charges makers and takers the same. */
export async function feesOf(context: InfoContext, trader: Address) {
  const { venue, universe } = context;
  const now = venue.clock.now();
  const [multiplier, days] = await Promise.all([feeMultiplier(venue, trader), dailyVolumes(context, trader, now)]);
  const first = universe.assets.find(({ isDelisted }) => !isDelisted)?.pair;
  const full = decimal((first && venue.feed.config().fees[first.feeIndex]?.totalPositionSizeFeeP) ?? 0n, FEE_SCALE);
  const [rate, own] = [formatRate(full), formatRate(multiply(full, decimal(multiplier, MULTIPLIER_SCALE)))];
  return {
    dailyUserVlm: days,
    feeSchedule: {
      cross: rate,
      add: rate,
      spotCross: ZERO_TEXT,
      spotAdd: ZERO_TEXT,
      tiers: { vip: [], mm: [] },
      referralDiscount: ZERO_TEXT,
      stakingDiscountTiers: [{ bpsOfMaxSupply: ZERO_TEXT, discount: ZERO_TEXT }],
    },
    userCrossRate: own,
    userAddRate: own,
    userSpotCrossRate: ZERO_TEXT,
    userSpotAddRate: ZERO_TEXT,
    activeReferralDiscount: ZERO_TEXT,
    trial: null,
    feeTrialEscrow: ZERO_TEXT,
    nextTrialAvailableTimestamp: null,
    stakingLink: null,
    activeStakingDiscount: { bpsOfMaxSupply: ZERO_TEXT, discount: ZERO_TEXT },
  };
}

/** 1e6 = the full fee. */
async function feeMultiplier({ chain }: Venue, trader: Address): Promise<bigint> {
  const { feeMultiplier: own } = await fromNode(chain.accountFacts(trader, []));
  return own ?? 10n ** BigInt(MULTIPLIER_SCALE);
}

/** Fills of limit orders that rested add volume, all others take it, as their `crossed` says. */
async function dailyVolumes(context: InfoContext, trader: Address, now: number) {
  const { gateway, venue, universe } = context;
  const today = Math.floor(now / DAY_MS);
  const since = (today - SHOWN_DAYS + 1) * DAY_MS;
  const window = { from: since, to: FOREVER, limit: MOST_FILLS, newestFirst: true };
  const [totals, fills] = await Promise.all([
    totalsSince(context, trader, since),
    readFills({ gateway, venue, universe, trader }, window, { withoutResults: true }),
  ]);
  // An execution of an order and its excess is one.
  const makers = new Map(fills.flatMap(({ fill, wire }) => (wire.crossed ? [] : [[fill.id, fill]])));
  return Array.from({ length: SHOWN_DAYS }, (_, back) => {
    const day = today - (SHOWN_DAYS - 1 - back);
    const all = volumeOf(totals.filter((total) => total.day === day));
    const ofDay = [...makers.values()].filter(({ executed }) => Math.floor(executed.place.at / DAY_MS) === day);
    const added = ofDay.reduce((sum, fill) => sum + volumeUsd(fill), 0n);
    const taken = added < all ? all - added : 0n;
    const date = new Date(day * DAY_MS).toISOString().slice(0, 10);
    return { date, userCross: formatUsd(taken), userAdd: formatUsd(added), exchange: ZERO_TEXT };
  });
}

const VOLUME_UNIT = E8 * 10n ** BigInt(BASE_SCALE + PRICE_SCALE - USD_SCALE);

/** 1e18 USD. */
const volumeUsd = ({ executed: { sizeToken, collateralPriceUsd, price } }: SeenFill): bigint =>
  divideInteger((sizeToken ?? 0n) * (collateralPriceUsd ?? E8) * price, VOLUME_UNIT, 'down');
