import { decimal, multiply, type Decimal } from '../domain/decimal.js';
import {
  groupOf,
  maxLeverageOf,
  publicBase,
  symbolOf,
  type Collateral,
  type MarketConfig,
  type MarketGroup,
  type Pair,
} from '../domain/market.js';
import { minFeeUsd } from '../domain/pricing/fees.js';
import type { Venue } from '../gateway.js';
import { GatewayError } from '../errors.js';
import { activeCollaterals, directoryOf, pairOf } from './directory.js';
import { fundingSnapshot, type FundingSnapshot } from './funding.js';

export interface Market {
  symbol: string;
  pairIndex: number;
  base: string;
  quote: string;
  group: MarketGroup;
  groupIndex: number;
  feeIndex: number;
  isOpen: boolean;
  minLeverage: Decimal;
  maxLeverage: Decimal;
  minCollateralUsd: Decimal;
  minPositionUsd: Decimal;
  pricePrecision: number;
  sizePrecision: number;
  spreadRate: Decimal;
  fees: { openFeeRate: Decimal; closeFeeRate: Decimal; minPositionSizeUsd: Decimal };
  funding: FundingSnapshot;
  onlyIsolated: true;
  collaterals: { symbol: string; index: number; address: string; decimals: number }[];
}

/** The contract's own resolution: prices are stored with ten decimals. */
export const PRICE_PRECISION = 10;
/** Finer sizes are below the token units of every collateral. */
const SIZE_PRECISION = 8;
/** The minimum collateral of an opening is five times the minimum fee. */
const MIN_OPENING_FEES = decimal(5n, 0);

/** Every listed pair; a pair whose group or fee row is unknown is left out. */
export function listMarkets(venue: Venue): Market[] {
  const config = venue.feed.config();
  return directoryOf(config).pairs.flatMap((pair) => describe(venue, config, pair) ?? []);
}

export function getMarket(venue: Venue, symbol: string): Market {
  const config = venue.feed.config();
  const market = describe(venue, config, pairOf(config, symbol));
  if (!market) throw new GatewayError('MARKET_NOT_FOUND', { market: symbol });
  return market;
}

function describe(venue: Venue, config: MarketConfig, pair: Pair): Market | null {
  const group = config.groups[pair.groupIndex];
  const fees = config.fees[pair.feeIndex];
  if (!group || !fees) return null;
  const now = venue.clock.now();
  const feeRate = decimal(fees.totalPositionSizeFeeP, 12);
  const minCollateralUsd = multiply(MIN_OPENING_FEES, decimal(minFeeUsd(fees), 18));
  return {
    symbol: symbolOf(pair),
    pairIndex: pair.index,
    base: publicBase(pair.from),
    quote: pair.to,
    group: groupOf(group.name),
    groupIndex: group.index,
    feeIndex: fees.index,
    isOpen: venue.feed.session(pair.index, now) === 'open',
    minLeverage: decimal(group.minLeverage, 3),
    maxLeverage: decimal(maxLeverageOf(pair, group), 3),
    minCollateralUsd,
    minPositionUsd: multiply(minCollateralUsd, decimal(group.minLeverage, 3)),
    pricePrecision: PRICE_PRECISION,
    sizePrecision: SIZE_PRECISION,
    spreadRate: decimal(pair.spreadP, 12),
    fees: { openFeeRate: feeRate, closeFeeRate: feeRate, minPositionSizeUsd: decimal(fees.minPositionSizeUsd, 3) },
    funding: fundingSnapshot(config, pair.index, venue.feed.lastPrice(pair.index) ?? undefined, now),
    onlyIsolated: true,
    collaterals: activeCollaterals(config).map(describeCollateral),
  };
}

const describeCollateral = ({ symbol, index, address, decimals }: Collateral): Market['collaterals'][number] => ({
  symbol,
  index,
  address,
  decimals,
});
