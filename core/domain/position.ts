import type { ChainEvent, Level, TradeFigures } from './chain-event.js';

type Hex = `0x${string}`;

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
  /** The transaction since which it is not there, while it is not known what closed it. */
  readonly goneIn?: Hex;
  /** What closed it, as the operator stated; null: no trigger. */
  readonly endedBy?: Level | null;
}

/** A position is the fold of its events; null = none has opened it. */
export function foldPosition(before: PositionState | null, event: ChainEvent): PositionState | null {
  const { at, blockNumber } = event.place;
  const position = event.kind === 'found' || event.kind === 'executed' ? withoutDoubt(before) : before;
  switch (event.kind) {
    case 'found': {
      const { trade, isOpen, slippageP, openedBlock, entryPriceUsd, goneIn, ended } = event;
      const entry = entryPriceUsd === undefined ? {} : { entryPriceUsd };
      const now = { ...trade, isOpen, slippageP, closedAt: isOpen ? null : at };
      const end = { ...(goneIn !== undefined && { goneIn }), ...(ended !== undefined && { endedBy: ended.by }) };
      if (position !== null) return event.isReread === true ? { ...position, ...now, ...end } : before;
      return { ...now, openedBlock, openedAt: at, ...entry };
    }
    case 'executed': {
      if (event.action === 'withdraw') return before;
      const price = event.action === 'open' ? event.collateralPriceUsd : (event.entryPriceUsd ?? null);
      const entry = price === null ? {} : { entryPriceUsd: price };
      const opened = { isOpen: true, slippageP: 0n, openedBlock: blockNumber, openedAt: at, closedAt: null, ...entry };
      if (event.after !== null) return { ...(position ?? opened), ...event.after };
      const held = position ?? { ...opened, ...event.terms, sizeToken: event.sizeToken ?? 0n, isCounterTrade: false };
      return { ...held, isOpen: false, closedAt: at };
    }
    case 'edited':
      return position === null ? null : { ...position, [event.field]: event.value };
    default:
      return position;
  }
}

function withoutDoubt(position: PositionState | null): PositionState | null {
  if (position === null || (position.goneIn === undefined && position.endedBy === undefined)) return position;
  const { goneIn: _goneIn, endedBy: _endedBy, ...known } = position;
  return known;
}
