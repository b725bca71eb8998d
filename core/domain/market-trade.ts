export const TRADE_ACTIONS = ['open', 'close', 'increase', 'decrease', 'tp', 'sl', 'liquidation', 'leverage'] as const;
export type TradeAction = (typeof TRADE_ACTIONS)[number];

/** One execution anybody may see. */
export interface MarketTrade {
  readonly pairIndex: number;
  /** 1e10. */
  readonly price: bigint;
  /** 1e18: what was traded; of a change of leverage, the position it left untouched. */
  readonly sizeUsd: bigint;
  /** The side of the position, also when it is closed. */
  readonly side: 'long' | 'short';
  readonly action: TradeAction;
  /** Epoch ms of the block. */
  readonly at: number;
  readonly txHash: string;
  /** 1e18: the profit of the price alone, of what was closed; absent where the backend does not say. */
  readonly pnlUsd?: bigint;
  /** The trader; absent where the backend does not say. */
  readonly trader?: string;
}
