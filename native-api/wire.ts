import { z } from 'zod';
import { MARKET_GROUPS } from '../core/domain/market.js';
import { DecimalString, EpochMs } from '../core/schema.js';

/** The resources of the native API, as they travel. */

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const Hash = z.string().regex(/^0x[0-9a-f]{64}$/);
const MarketSymbol = z.string().regex(/^[A-Z0-9.]{1,15}\/[A-Z0-9]{1,10}$/);
const list = <Item extends z.ZodType>(item: Item) => z.object({ data: z.array(item) });

export const Health = z.object({
  status: z.literal('ok'),
  chains: z.array(z.string()),
  mode: z.enum(['production', 'sandbox']),
  version: z.string(),
  commit: z.string(),
});

const ChainReady = z.object({ ready: z.boolean(), reasons: z.array(z.string()), block: z.int().nullable() });
export const Ready = z.object({ ready: z.boolean(), database: z.object({ ready: z.boolean() }), chains: z.record(z.string(), ChainReady) });

export const ChainInfo = z.object({
  chain: z.string(),
  chainId: z.int(),
  diamond: Address,
  relayer: Address.nullable(),
  relayers: z.array(Address),
  agentNameTag: z.string().nullable(),
  testnet: z.boolean(),
  serverTime: EpochMs,
  signing: z.object({
    domain: z.object({ name: z.string(), version: z.string(), chainId: z.int(), verifyingContract: Address }),
    fields: z.array(z.object({ name: z.string(), type: z.string() })),
    emptyBodyHash: Hash,
  }),
});

const FundingSnapshot = z.object({
  fundingRateLongHourly: DecimalString,
  fundingRateShortHourly: DecimalString,
  borrowingRateHourly: DecimalString,
  openInterestLongUsd: DecimalString,
  openInterestShortUsd: DecimalString,
  skewUsd: DecimalString,
});

export const Market = z.object({
  symbol: MarketSymbol,
  pairIndex: z.int(),
  base: z.string(),
  quote: z.string(),
  group: z.enum(MARKET_GROUPS),
  groupIndex: z.int(),
  feeIndex: z.int(),
  isOpen: z.boolean(),
  minLeverage: DecimalString,
  maxLeverage: DecimalString,
  minCollateralUsd: DecimalString,
  minPositionUsd: DecimalString,
  pricePrecision: z.int(),
  sizePrecision: z.int(),
  spreadRate: DecimalString,
  fees: z.object({ openFeeRate: DecimalString, closeFeeRate: DecimalString, minPositionSizeUsd: DecimalString }),
  funding: FundingSnapshot,
  onlyIsolated: z.literal(true),
  collaterals: z.array(z.object({ symbol: z.string(), index: z.int(), address: Address, decimals: z.int() })),
});
export const Markets = list(Market);

export const Price = z.object({ market: MarketSymbol, mark: DecimalString, index: DecimalString, updatedAt: EpochMs });
export const Prices = list(Price);
