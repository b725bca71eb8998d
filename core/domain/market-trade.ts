export const TRADE_ACTIONS = ['open', 'close', 'increase', 'decrease', 'tp', 'sl', 'liquidation', 'leverage'] as const;
export type TradeAction = (typeof TRADE_ACTIONS)[number];

/** One public execution. */
export interface MarketTrade {
  readonly pairIndex: number;
  /** 1e10. */
  readonly price: bigint;
  /** 1e18: the traded size; for a leverage change, the size of the position. */
  readonly sizeUsd: bigint;
  /** The side of the position, also when it is closed. */
  readonly side: 'long' | 'short';
  readonly action: TradeAction;
  /** Epoch ms of the block. */
  readonly at: number;
  readonly txHash: string;
  /** 1e18: profit of the closed part by price alone; absent where the backend does not provide it. */
  readonly pnlUsd?: bigint;
  /** The trader; absent where the backend does not provide it. */
  readonly trader?: string;
}
