import type { AgentCaller } from '../access/caller.js';
import { positionOf } from '../account/list-positions.js';
import type { Decimal } from '../domain/decimal.js';
import type { Gateway, Venue } from '../gateway.js';
import { changeLeverage, type ChangedPosition, type LeverageChange } from './change-leverage.js';
import { increasePosition, type IncreaseRequest } from './increase-position.js';
import { triggerUnits } from './order-request.js';
import { onPosition, type PositionFigures } from './find-position.js';
import { storedSl } from './position-order.js';
import { prepareProtection, requireAhead, requireProtectable } from './protect-position.js';
import { withdrawPnl, type WithdrawalRequest } from './withdraw-pnl.js';

export interface ProtectionChange {
  /** 0 removes it; absent leaves it. */
  readonly sl?: Decimal | undefined;
  readonly tp?: Decimal | undefined;
}

export type PositionChange =
  ProtectionChange | LeverageChange | { readonly increase: IncreaseRequest } | { readonly withdrawPnl: WithdrawalRequest };

export function updatePosition(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  change: PositionChange,
): Promise<ChangedPosition> {
  if ('increase' in change) return increasePosition(gateway, venue, caller, id, change.increase);
  if ('withdrawPnl' in change) return withdrawPnl(gateway, venue, caller, id, change.withdrawPnl);
  if ('leverage' in change || 'collateral' in change) return changeLeverage(gateway, venue, caller, id, change);
  return protect(gateway, venue, caller, id, change);
}

async function protect(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  change: ProtectionChange,
): Promise<ChangedPosition> {
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
