import { collateralOf } from '../../core/account/describe-order.js';
import { decimal, divide } from '../../core/domain/decimal.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import type { Venue } from '../../core/gateway.js';
import { formatRate, formatUsd, USD_SCALE, valueUsd } from '../format.js';
import { readFills, type ShownFill } from './fills.js';
import type { AccountContext } from './order-shapes.js';

/** What a close paid, or got, for the time that its position was held: the contract settles it then, and no sooner. */
export interface FundingPayment {
  readonly time: number;
  readonly hash: string;
  readonly delta: {
    readonly type: 'funding';
    readonly coin: string;
    /** Negative is paid. It is part of the fill's `closedPnl`. */
    readonly usdc: string;
    /** The position before the close. */
    readonly szi: string;
    /** Of the closed value, over all the time; positive if longs pay. */
    readonly fundingRate: string;
    readonly nSamples: null;
  };
}

/** Less is the rounding of the contract's divisions; 1e18 USD. */
const LEAST_USD = 10n ** 14n;
const RATE_SCALE = 10;

/** Of these fills, in their order. */
export function fundingOf({ feed }: Venue, fills: readonly ShownFill[]): FundingPayment[] {
  const config = feed.config();
  const parts = new Map<bigint, ShownFill[]>();
  for (const shown of fills) parts.set(shown.fill.id, [...(parts.get(shown.fill.id) ?? []), shown]);
  return [...parts.values()].flatMap((own): FundingPayment[] => {
    const [first] = own.toSorted((a, b) => a.part.time - b.part.time);
    const { executed } = first?.fill ?? {};
    const collateral = executed && collateralOf(config, executed.terms.collateralIndex);
    if (!first?.result || !executed || !collateral) return [];
    const priced = { ...collateral, priceUsd: executed.collateralPriceUsd ?? collateral.priceUsd };
    const paid = collateralToUsd(first.result.holding, priced);
    if (paid < LEAST_USD && -paid < LEAST_USD) return [];
    const worth = valueUsd(
      own.reduce((sum, { part }) => sum + part.size, 0n),
      executed.price,
    );
    const rate = divide(decimal(executed.terms.long ? paid : -paid, USD_SCALE), decimal(worth, USD_SCALE), RATE_SCALE, 'half-up');
    const { time, hash, coin, startPosition } = first.wire;
    const delta = {
      type: 'funding',
      coin,
      usdc: formatUsd(-paid),
      szi: startPosition,
      fundingRate: formatRate(rate),
      nSamples: null,
    } as const;
    return [{ time, hash, delta }];
  });
}

const MOST_PAYMENTS = 500;
const FILLS_OF_PAGE = 2_000;
const MOST_PAGES = 5;

/** Oldest first. Openings pay nothing, so several pages of fills are read until there are enough payments. */
export async function userFunding(account: AccountContext, from: number, to: number): Promise<FundingPayment[]> {
  const payments: FundingPayment[] = [];
  let next = from;
  for (let page = 0; page < MOST_PAGES && payments.length < MOST_PAYMENTS; page += 1) {
    const fills = await readFills(account, { from: next, to, limit: FILLS_OF_PAGE, newestFirst: false });
    payments.push(...fundingOf(account.venue, fills));
    const last = fills.at(-1)?.part.time;
    // A page may show fewer fills than it read: those of a second that was shown already, and those below a lot.
    if (last === undefined) break;
    next = last + 1;
  }
  return payments.slice(0, MOST_PAYMENTS);
}
