import type { AgentCaller } from '../access/caller.js';
import { marketName, type Order } from '../account/describe-order.js';
import { livePrice, positionOf, type Position } from '../account/list-positions.js';
import { decimal, formatDecimal, type Decimal } from '../domain/decimal.js';
import { checkMarket } from '../domain/scope.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { changeLeverage, type LeverageChange } from './change-leverage.js';
import { invalid, PRICE_DECIMALS, triggerUnits } from './exact-units.js';
import { isReverted } from './find-order.js';
import { onPosition, type PositionFigures } from './find-position.js';
import { storedSl } from './position-order.js';
import { prepareTransaction, type PreparedTransaction, type PreparedWrite } from './prepare-transaction.js';

export interface ProtectionChange {
  /** 0 removes it; absent leaves it. */
  readonly sl?: Decimal | undefined;
  readonly tp?: Decimal | undefined;
}

export type PositionChange = ProtectionChange | LeverageChange;

/** The position as it will read once the change is executed. */
export interface PreparedPosition {
  position: Position;
  /** null where the change is done with its transaction. */
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
    requireAllowed(venue, caller, figures);
    const levels = levelsWanted(venue, figures, change);
    return { levels, write: await prepareProtection(gateway, venue, caller, figures.tradeIndex, levels) };
  });
  const tp = made.levels.tp ?? position.figures.tp;
  const sl =
    made.levels.sl === null ? position.figures.sl : storedSl(venue, position, { sl: made.levels.sl, leverage: position.figures.leverage });
  const own = { ...position.own, trade: { ...position.own.trade, tp, sl } };
  return { position: positionOf(venue, own, position.place), order: null, transaction: made.write?.transaction ?? null };
}

/** No oracle is asked, so it may be done while the market is shut, but not while the contracts only let positions be closed. */
function requireAllowed({ feed }: Venue, { scope }: AgentCaller, { pairIndex }: PositionFigures): void {
  const config = feed.config();
  const market = marketName(config, pairIndex);
  checkMarket(scope, market);
  if (config.tradingState !== 'active') throw new GatewayError('MARKET_CLOSED', { market, session: config.tradingState });
}

interface Levels {
  /** null = as it is. */
  readonly tp: bigint | null;
  readonly sl: bigint | null;
}

/** The contract takes any level; one that the price has passed already would close the position at once, which nobody means by it. */
function levelsWanted(venue: Venue, figures: PositionFigures, { tp, sl }: ProtectionChange): Levels {
  const wanted = {
    tp: tp === undefined ? null : triggerUnits('tp', tp),
    sl: sl === undefined ? null : triggerUnits('sl', sl),
  };
  const { mark } = livePrice(venue, figures.pairIndex);
  const side = figures.long ? 'long' : 'short';
  const at = formatDecimal(decimal(mark, PRICE_DECIMALS));
  if (wanted.tp && (figures.long ? wanted.tp <= mark : wanted.tp >= mark))
    throw invalid('tp', `must be ${figures.long ? 'above' : 'below'} the mark price ${at} of a ${side}`);
  if (wanted.sl && (figures.long ? wanted.sl >= mark : wanted.sl <= mark))
    throw invalid('sl', `must be ${figures.long ? 'below' : 'above'} the mark price ${at} of a ${side}`);
  return { tp: wanted.tp === figures.tp ? null : wanted.tp, sl: wanted.sl === figures.sl ? null : wanted.sl };
}

async function prepareProtection(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  tradeIndex: number,
  levels: Levels,
): Promise<PreparedWrite | null> {
  if (levels.tp === null && levels.sl === null) return null;
  try {
    return await prepareTransaction(gateway, venue, caller, { intent: { kind: 'protect', tradeIndex, ...levels }, takes: null });
  } catch (error) {
    if (!isReverted(error) || error.details.errorName !== 'PendingTrigger') throw error;
    const reason = 'a keeper is closing the position by its take profit or stop loss';
    throw new GatewayError('ORDER_NOT_MODIFIABLE', { id: null, status: 'pending', reason });
  }
}
