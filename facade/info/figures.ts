import { collateralOf } from '../../core/account/describe-order.js';
import { decimal, multiply } from '../../core/domain/decimal.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import { GatewayError } from '../../core/errors.js';
import type { DayTotal } from '../../core/ports/stores/history.js';
import type { Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { rulesWithFacts } from '../../core/trading/describe-rules.js';
import { ZERO_TEXT, formatRate, formatUsd } from '../format.js';
import { accountValue } from './clearinghouse.js';
import type { InfoContext } from './info-type.js';

const DAY_MS = 86_400_000;
/** A fee of 1e10 percent as a fraction. */
const FEE_SCALE = 12;
const MULTIPLIER_SCALE = 6;
const SHOWN_DAYS = 15;

const totalsSince = ({ gateway, venue }: InfoContext, trader: Address, since: number): Promise<DayTotal[]> =>
  gateway.store.facade.history.totals(venue.definition.slug, trader, Math.max(0, since));

const volumeOf = (totals: readonly DayTotal[]): bigint => totals.reduce((sum, { volumeUsd }) => sum + volumeUsd, 0n);

/** One rate for all markets: that of the first one, with the trader's discount. Resting orders pay the same. */
export async function feesOf(context: InfoContext, trader: Address) {
  const { venue, universe } = context;
  const now = venue.clock.now();
  const [multiplier, totals] = await Promise.all([feeMultiplier(venue, trader), totalsSince(context, trader, now - SHOWN_DAYS * DAY_MS)]);
  const first = universe.assets.find(({ isDelisted }) => !isDelisted)?.pair;
  const full = decimal((first && venue.feed.config().fees[first.feeIndex]?.totalPositionSizeFeeP) ?? 0n, FEE_SCALE);
  const [rate, own] = [formatRate(full), formatRate(multiply(full, decimal(multiplier, MULTIPLIER_SCALE)))];
  return {
    dailyUserVlm: dailyVolumes(totals, now),
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
  const facts = await chain.accountFacts(trader, []).catch((cause: unknown) => {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'node' }, { cause });
  });
  return facts.feeMultiplier ?? 10n ** BigInt(MULTIPLIER_SCALE);
}

/** All volume is taker volume: there is no resting book. */
function dailyVolumes(totals: readonly DayTotal[], now: number) {
  const today = Math.floor(now / DAY_MS);
  return Array.from({ length: SHOWN_DAYS }, (_, back) => {
    const day = today - (SHOWN_DAYS - 1 - back);
    const volume = formatUsd(volumeOf(totals.filter((total) => total.day === day)));
    return { date: new Date(day * DAY_MS).toISOString().slice(0, 10), userCross: volume, userAdd: ZERO_TEXT, exchange: ZERO_TEXT };
  });
}

const MINUTES_OF_A_DAY = 1_440;

/**
 * Counts the transactions sent for the trader today (UTC) against its daily quota. Without a quota the cap is the per-minute limit
 * multiplied to a day. Requests cannot be bought here, so the surplus is always zero.
 */
export async function rateLimitOf(context: InfoContext, trader: Address) {
  const { gateway, venue } = context;
  const [totals, { rules, facts }] = await Promise.all([totalsSince(context, trader, 0), rulesWithFacts(gateway, venue, trader)]);
  return {
    cumVlm: formatUsd(volumeOf(totals)),
    nRequestsUsed: facts.dayTransactions,
    nRequestsCap: rules.dailyTransactions ?? gateway.access.limits['agent-writes'] * MINUTES_OF_A_DAY,
    nRequestsSurplus: 0,
  };
}

const PERIODS = [
  ['day', DAY_MS],
  ['week', 7 * DAY_MS],
  ['month', 30 * DAY_MS],
  ['allTime', Infinity],
] as const;

/** Only the current value: past values are not recorded. Profit is the realised profit of the period plus the open profit. */
export async function portfolio(context: InfoContext, trader: Address) {
  const { venue, accounts } = context;
  const now = venue.clock.now();
  const [state, totals] = await Promise.all([accounts.of(venue, trader), totalsSince(context, trader, 0)]);
  const value = formatUsd(accountValue(state));
  const open = state.trades.reduce((sum, { pnlUsd, fundingUsd }) => sum + pnlUsd - fundingUsd, 0n);
  const shown = PERIODS.map(([name, lasts]) => {
    const within = totals.filter(({ day }) => (day + 1) * DAY_MS > now - lasts);
    const pnl = formatUsd(open + realizedUsd(venue, within));
    return [name, { accountValueHistory: [[now, value]], pnlHistory: [[now, pnl]], vlm: formatUsd(volumeOf(within)) }] as const;
  });
  return [...shown, ...shown.map(([name, period]) => [`perp${name.charAt(0).toUpperCase()}${name.slice(1)}`, period] as const)];
}

function realizedUsd({ feed }: Venue, totals: readonly DayTotal[]): bigint {
  const config = feed.config();
  return totals.reduce((sum, { collateralIndex, netPnl }) => {
    const collateral = collateralOf(config, collateralIndex);
    return collateral ? sum + collateralToUsd(netPnl, collateral) : sum;
  }, 0n);
}
