import type { AgentCaller } from '../access/caller.js';
import type { OpenTrades } from '../ports/account-chain.js';
import type { ListedPosition } from '../ports/stores/account.js';
import { readOpenTrades, type PositionAtBlock } from '../account/list-positions.js';
import type { TradeFigures } from '../domain/chain-event.js';
import { figuresOf } from '../domain/interpret-executions.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';

/** The figures needed to prepare a write on a position. */
export interface PositionFigures extends TradeFigures {
  readonly tradeIndex: number;
  /** Closing slippage, 1e3 percent; 0 = the contract's default. */
  readonly slippageP: bigint;
  /** 1e8: the collateral's price when it was opened; absent where it is not known. */
  readonly entryPriceUsd?: bigint;
}

/** A position as the chain has it now, with the figures that a write on it needs. */
export interface HeldPosition extends PositionAtBlock {
  readonly figures: PositionFigures;
}

export interface OnPosition<Made> {
  readonly position: HeldPosition;
  readonly made: Made;
}

const ID = /^[1-9]\d{0,15}$/;

/**
 * Runs `make` with the stored figures while the chain is read: stored figures are nearly always current, so both take one round trip
 * together. If the chain's figures differ, `make` runs again with them. Positions of another trader are reported as not found.
 */
export async function onPosition<Made>(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  make: (figures: PositionFigures) => Promise<Made>,
): Promise<OnPosition<Made>> {
  if (!ID.test(id)) throw new GatewayError('POSITION_NOT_FOUND', { id });
  const known = await gateway.store.account.openPositions(venue.definition.slug, caller.trader);
  const guess = known.find((listed) => listed.id === BigInt(id));
  const guessed = guess && { figures: figuresKnown(guess), tradeIndex: guess.tradeIndex };
  const [attempt, read] = await Promise.allSettled([guessed && make(guessed.figures), readOpenTrades(venue, caller.trader, known)]);
  if (read.status === 'rejected') throw read.reason;
  const tradeIndex = guessed?.tradeIndex ?? (await tradeOf(gateway, venue, caller, id, read.value));
  const position = held(caller, BigInt(id), known, read.value, tradeIndex);
  if (position === null) throw new GatewayError('POSITION_NOT_FOUND', { id });
  if (!guessed || !isSame(guessed.figures, position.figures)) return { position, made: await make(position.figures) };
  if (attempt.status === 'rejected') throw attempt.reason;
  if (attempt.value === undefined) throw new TypeError('make returned undefined for a stored position');
  return { position, made: attempt.value };
}

/** A position from before the start block, or newer than the cursor, got its id when it was listed. */
async function tradeOf(
  gateway: Gateway,
  { definition }: Venue,
  { trader }: AgentCaller,
  id: string,
  { trades }: OpenTrades,
): Promise<number | null> {
  const indices = trades.map(({ trade }) => trade.index);
  const ids = await gateway.store.account.positionIds(definition.slug, trader, indices);
  return indices.find((index) => ids.get(index) === BigInt(id)) ?? null;
}

function held(
  { trader }: AgentCaller,
  id: bigint,
  known: readonly ListedPosition[],
  { trades, block }: OpenTrades,
  tradeIndex: number | null,
): HeldPosition | null {
  const own = trades.find(({ trade }) => trade.index === tradeIndex);
  if (!own) return null;
  const openedAt = known.find((listed) => listed.tradeIndex === tradeIndex)?.position.openedBlock;
  return {
    figures: { ...figuresOf(own.trade), tradeIndex: own.trade.index, slippageP: BigInt(own.info.maxSlippageP) },
    own,
    place: { block, id, trader, openedAtBlock: openedAt === undefined ? undefined : Number(openedAt) },
  };
}

const figuresKnown = ({ tradeIndex, position }: ListedPosition): PositionFigures => ({ ...position, tradeIndex });

const COMPARED = [
  'collateralAmount',
  'leverage',
  'openPrice',
  'sizeToken',
  'tp',
  'sl',
  'slippageP',
] as const satisfies readonly (keyof PositionFigures)[];

const isSame = (a: PositionFigures, b: PositionFigures): boolean => COMPARED.every((field) => a[field] === b[field]);
