import type { ChainEvent, TradeFigures } from './chain-event.js';

/** A position derived from chain events, in the contract's units. It is kept after it is closed. */
export interface PositionState extends TradeFigures {
  readonly isOpen: boolean;
  /** Closing slippage, 1e3 percent; 0 = the contract's default. */
  readonly slippageP: bigint;
  readonly openedBlock: bigint;
  /** Epoch ms. */
  readonly openedAt: number;
  readonly closedAt: number | null;
  /**
   * The collateral's price when the trade was opened, 1e8. Sizes in base units use it for the trade's whole life; with the current price they
   * would change while nothing is traded. Absent where unknown.
   */
  readonly entryPriceUsd?: bigint;
}

/** A position is the fold of its events; null = none has opened it. */
export function foldPosition(position: PositionState | null, event: ChainEvent): PositionState | null {
  const { at, blockNumber } = event.place;
  switch (event.kind) {
    case 'found': {
      const { trade, isOpen, slippageP, openedBlock, entryPriceUsd } = event;
      const entry = entryPriceUsd === undefined ? {} : { entryPriceUsd };
      const now = { ...trade, isOpen, slippageP, closedAt: isOpen ? null : at };
      if (position !== null) return event.isReread === true ? { ...position, ...now } : position;
      return { ...now, openedBlock, openedAt: at, ...entry };
    }
    case 'executed': {
      if (event.action === 'withdraw') return position;
      const price = event.action === 'open' ? event.collateralPriceUsd : (event.entryPriceUsd ?? null);
      const entry = price === null ? {} : { entryPriceUsd: price };
      const opened = { isOpen: true, slippageP: 0n, openedBlock: blockNumber, openedAt: at, closedAt: null, ...entry };
      if (event.after !== null) return { ...(position ?? opened), ...event.after };
      const before = position ?? { ...opened, ...event.terms, sizeToken: event.sizeToken ?? 0n, isCounterTrade: false };
      return { ...before, isOpen: false, closedAt: at };
    }
    case 'edited':
      return position === null ? null : { ...position, [event.field]: event.value };
    default:
      return position;
  }
}
