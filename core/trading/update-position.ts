import type { AgentCaller } from '../access/caller.js';
import type { Order } from '../account/describe-order.js';
import { positionOf, type Position } from '../account/list-positions.js';
import type { Decimal } from '../domain/decimal.js';
import type { Gateway, Venue } from '../gateway.js';
import { changeLeverage, type LeverageChange } from './change-leverage.js';
import { triggerUnits } from './order-request.js';
import { onPosition, type PositionFigures } from './find-position.js';
import { storedSl } from './position-order.js';
import type { PreparedTransaction } from './prepare-transaction.js';
import { prepareProtection, requireAhead, requireProtectable } from './protect-position.js';

export interface ProtectionChange {
  /** 0 removes it; absent leaves it. */
  readonly sl?: Decimal | undefined;
  readonly tp?: Decimal | undefined;
}

export type PositionChange = ProtectionChange | LeverageChange;

/** The position as it will be once the change is executed. */
export interface PreparedPosition {
  position: Position;
  /** null where the change takes effect with its transaction, without the oracle. */
  order: Order | null;
  transaction: PreparedTransaction | null;
}

export function updatePosition(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  change: PositionChange,
): Promise<PreparedPosition> {
  if ('leverage' in change || 'collateral' in change) return changeLeverage(gateway, venue, caller, id, change);
  return protect(gateway, venue, caller, id, change);
}

async function protect(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  change: ProtectionChange,
): Promise<PreparedPosition> {
  const { position, made } = await onPosition(gateway, venue, caller, id, async (figures) => {
    requireProtectable(venue, caller, figures);
    const levels = levelsWanted(venue, figures, change);
    const isChange = levels.tp !== null || levels.sl !== null;
    return {
      levels,
      write: isChange ? await prepareProtection(gateway, venue, caller, { tradeIndex: figures.tradeIndex, ...levels }) : null,
    };
  });
  const tp = made.levels.tp ?? position.figures.tp;
  const sl =
    made.levels.sl === null ? position.figures.sl : storedSl(venue, position, { sl: made.levels.sl, leverage: position.figures.leverage });
  const own = { ...position.own, trade: { ...position.own.trade, tp, sl } };
  return { position: positionOf(venue, own, position.place), order: null, transaction: made.write?.transaction ?? null };
}

interface Levels {
  /** null = unchanged. */
  readonly tp: bigint | null;
  readonly sl: bigint | null;
}

export function levelsWanted(venue: Venue, figures: PositionFigures, { tp, sl }: ProtectionChange): Levels {
  const wanted = {
    tp: tp === undefined ? null : triggerUnits('tp', tp),
    sl: sl === undefined ? null : triggerUnits('sl', sl),
  };
  if (wanted.tp) requireAhead(venue, figures, { field: 'tp', level: 'tp', price: wanted.tp });
  if (wanted.sl) requireAhead(venue, figures, { field: 'sl', level: 'sl', price: wanted.sl });
  return { tp: wanted.tp === figures.tp ? null : wanted.tp, sl: wanted.sl === figures.sl ? null : wanted.sl };
}
