/** What the public API answers, as far as this page shows it. Money and prices are decimal strings. */

export interface Market {
  readonly symbol: string;
  readonly base: string;
  readonly quote: string;
  readonly group: string;
  readonly isOpen: boolean;
  readonly minLeverage: string;
  readonly maxLeverage: string;
  readonly pricePrecision: number;
  readonly sizePrecision: number;
  readonly funding: {
    /** Percent per hour. */
    readonly fundingRateLongHourly: string;
    readonly fundingRateShortHourly: string;
    readonly borrowingRateHourly: string;
    readonly openInterestLongUsd: string;
    readonly openInterestShortUsd: string;
  };
}

export interface Price {
  readonly market: string;
  readonly mark: string;
  readonly index: string;
  readonly updatedAt: number;
}

export interface DayFigures {
  readonly market: string;
  readonly priceBefore: string | null;
  readonly volumeUsd: string;
}

export interface BookLevel {
  readonly price: string;
  readonly size: string;
  readonly sizeUsd: string;
  readonly cumulativeUsd: string;
}

export interface Book {
  readonly market: string;
  readonly markPrice: string;
  readonly bids: readonly BookLevel[];
  readonly asks: readonly BookLevel[];
  readonly timestamp: number;
}

export interface MarketTrade {
  readonly market: string;
  readonly price: string;
  readonly sizeUsd: string;
  readonly side: 'long' | 'short';
  readonly action: string;
  readonly timestamp: number;
  readonly txHash: string;
}

export interface Candle {
  readonly time: number;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
}

export interface Ready {
  readonly ready: boolean;
  readonly stopping: boolean;
  readonly database: { readonly ready: boolean; readonly reasons: readonly string[] };
  readonly chains: Readonly<Record<string, ChainReady>>;
}

export interface ChainReady {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly notes: readonly string[];
  readonly relayer: { readonly ready: boolean; readonly reasons: readonly string[] } | null;
  readonly block: number | null;
  readonly headAgeMs: number | null;
  readonly priceAgeMs: number | null;
  readonly followed: { readonly behind: number | null };
  readonly endpoints: readonly { readonly host: string; readonly state: string; readonly latencyMs: number | null }[];
}

export const INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'] as const;
export type Interval = (typeof INTERVALS)[number];

/** `BTC/USD` in a path or an address. */
export const slugOf = (symbol: string): string => symbol.replace('/', '-');
