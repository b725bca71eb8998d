/** The sandbox's markets as data. The array position is the pair index on chain, in the backend's arrays and, later, the asset id of the facade. */

export interface SandboxGroup {
  readonly name: string;
  readonly minLeverage: string;
  readonly maxLeverage: string;
  /** Percent of the position size, charged on opening and on closing. */
  readonly feePercent: string;
  /** Fee floor in USD, not a minimum size. */
  readonly minPositionUsd: string;
}

export const SANDBOX_GROUPS = [
  { name: 'crypto', minLeverage: '1.1', maxLeverage: '150', feePercent: '0.06', minPositionUsd: '1250' },
  { name: 'forex', minLeverage: '1.1', maxLeverage: '1000', feePercent: '0.012', minPositionUsd: '6250' },
  { name: 'stocks-1', minLeverage: '1.1', maxLeverage: '50', feePercent: '0.05', minPositionUsd: '1500' },
  { name: 'indices', minLeverage: '1.1', maxLeverage: '100', feePercent: '0.05', minPositionUsd: '1500' },
  { name: 'commodities-1', minLeverage: '1.1', maxLeverage: '150', feePercent: '0.03', minPositionUsd: '2500' },
  { name: 'altcoins', minLeverage: '1.1', maxLeverage: '100', feePercent: '0.06', minPositionUsd: '1250' },
] as const satisfies readonly SandboxGroup[];

export interface SandboxMarket {
  readonly from: string;
  readonly to: string;
  readonly group: (typeof SANDBOX_GROUPS)[number]['name'];
  readonly startPrice: string;
  /** Standard deviation of the random walk, percent per day. */
  readonly volatilityPercent: number;
  readonly spreadPercent: string;
  /** USD on each side of the virtual book; 0 = no volume impact. */
  readonly depthUsd: number;
  /** Base tokens of the skew depth per collateral; '0' = no skew impact and no funding. */
  readonly skewDepth: string;
  /** Open-interest cap per collateral, in collateral units. */
  readonly maxOi: number;
  /** Percent per hour paid by both sides. */
  readonly borrowingPercentPerHour: string;
  readonly maxLeverage?: string;
}

const crypto = { to: 'USD', group: 'crypto', spreadPercent: '0.04', borrowingPercentPerHour: '0.001' } as const;
const forex = {
  group: 'forex',
  spreadPercent: '0.01',
  depthUsd: 40_000_000,
  skewDepth: '0',
  maxOi: 20_000_000,
  volatilityPercent: 0.5,
  borrowingPercentPerHour: '0.0004',
} as const;
const stock = {
  to: 'USD',
  group: 'stocks-1',
  spreadPercent: '0.05',
  depthUsd: 5_000_000,
  skewDepth: '0',
  maxOi: 3_000_000,
  volatilityPercent: 2,
  borrowingPercentPerHour: '0.002',
} as const;
const index = { ...stock, group: 'indices', volatilityPercent: 1 } as const;
const metal = {
  to: 'USD',
  group: 'commodities-1',
  spreadPercent: '0.02',
  depthUsd: 15_000_000,
  maxOi: 8_000_000,
  volatilityPercent: 1,
  borrowingPercentPerHour: '0.0008',
} as const;

/** null is a delisted slot: it stays in the middle of the range for ever, because indices are never reused. */
export const SANDBOX_MARKETS: readonly (SandboxMarket | null)[] = [
  { ...crypto, from: 'BTC', startPrice: '60000', depthUsd: 10_000_000, skewDepth: '2000', maxOi: 30_000_000, volatilityPercent: 3 },
  { ...crypto, from: 'ETH', startPrice: '3000', depthUsd: 8_000_000, skewDepth: '40000', maxOi: 25_000_000, volatilityPercent: 4 },
  { ...crypto, from: 'SOL', startPrice: '150', depthUsd: 3_000_000, skewDepth: '400000', maxOi: 8_000_000, volatilityPercent: 5 },
  { ...crypto, from: 'AVAX', startPrice: '25', depthUsd: 1_500_000, skewDepth: '1500000', maxOi: 3_000_000, volatilityPercent: 5 },
  { ...crypto, from: 'LINK', startPrice: '14', depthUsd: 1_500_000, skewDepth: '2500000', maxOi: 3_000_000, volatilityPercent: 5 },
  null,
  {
    ...crypto,
    from: 'ARB',
    group: 'altcoins',
    startPrice: '0.8',
    depthUsd: 1_000_000,
    skewDepth: '0',
    maxOi: 2_000_000,
    volatilityPercent: 6,
  },
  {
    ...crypto,
    from: 'DOGE',
    group: 'altcoins',
    startPrice: '0.12',
    depthUsd: 1_500_000,
    skewDepth: '0',
    maxOi: 2_500_000,
    volatilityPercent: 6,
  },
  {
    ...crypto,
    from: 'PEPE',
    group: 'altcoins',
    startPrice: '0.00000845',
    depthUsd: 600_000,
    skewDepth: '0',
    maxOi: 1_000_000,
    volatilityPercent: 8,
  },
  { ...forex, from: 'EUR', to: 'USD', startPrice: '1.0842' },
  { ...forex, from: 'USD', to: 'JPY', startPrice: '151.32' },
  { ...forex, from: 'GBP', to: 'USD', startPrice: '1.2715' },
  { ...stock, from: 'AAPL', startPrice: '225.4' },
  { ...stock, from: 'TSLA', startPrice: '248.2', maxLeverage: '4' },
  { ...index, from: 'SPY', startPrice: '560.1' },
  { ...index, from: 'QQQ', startPrice: '478.6' },
  { ...metal, from: 'XAU', startPrice: '2410.5', skewDepth: '30000' },
  { ...metal, from: 'XAG', startPrice: '28.7', skewDepth: '2000000' },
];
