import { accruedFunding, APR_UNIT, aprMultipliers } from './funding.js';
import type { MarketView, Moment } from './market-view.js';
import { E8 } from './units.js';

const HOUR = 3600n;

/** 1e18 percent per hour; positive is paid by that side, negative received. */
export interface HourlyRates {
  readonly fundingLong: bigint;
  readonly fundingShort: bigint;
  /** Both sides pay it. */
  readonly borrowing: bigint;
}

/**
 * Rates at a moment: funding advanced by its velocity, the earning side times its multiplier. An empty side accrues nothing on chain;
 * here it shows the plain rate, which the first trade on it would pay.
 */
export function hourlyRates(
  market: Pick<MarketView, 'state' | 'collateral'>,
  at: { readonly moment: Moment; readonly price: bigint },
): HourlyRates {
  const { state, collateral } = market;
  const { rate } = accruedFunding(state, { timestamp: at.moment.timestamp, price: at.price, collateral });
  const charged = state.fundingParams.fundingFeesEnabled ? rate : 0n;
  const enabled = state.fundingParams.aprMultiplierEnabled;
  const multipliers = aprMultipliers({ rate: charged, oiToken: state.oiToken, enabled });
  const shown = (multiplier: bigint, openInterest: bigint): bigint => (openInterest === 0n ? APR_UNIT : multiplier);
  return {
    fundingLong: (charged * HOUR * shown(multipliers.long, state.oiToken.long)) / APR_UNIT,
    fundingShort: (-charged * HOUR * shown(multipliers.short, state.oiToken.short)) / APR_UNIT,
    borrowing: state.borrowing.borrowingRatePerSecondP * E8 * HOUR,
  };
}
