import type { AgentCaller } from '../access/caller.js';
import { marketName } from '../domain/market.js';
import { requireLastPrice } from '../account/list-positions.js';
import { decimal, formatDecimal } from '../domain/decimal.js';
import type { ProtectIntent } from '../domain/intent.js';
import type { Level } from '../domain/chain-event.js';
import { marketView } from '../domain/pricing/market-view.js';
import { markIn } from '../domain/pricing/exposure.js';
import { checkMarket } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { invalid, PRICE_DECIMALS } from './order-request.js';
import { isReverted } from './find-order.js';
import type { PositionFigures } from './find-position.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';

/** TP/SL changes need no oracle, so they are allowed while the market is closed, but not while trading is paused or close-only. */
export function requireProtectable({ feed }: Venue, { scope }: AgentCaller, { pairIndex }: Pick<PositionFigures, 'pairIndex'>): void {
  const config = feed.config();
  const market = marketName(config, pairIndex);
  checkMarket(scope, market);
  if (config.tradingState !== 'active') throw new GatewayError('MARKET_CLOSED', { market, session: config.tradingState });
}

interface Wanted {
  /** Field name in the request, for the error. */
  readonly field: string;
  readonly level: Level;
  readonly price: bigint;
}

/** The contract accepts any trigger price; one that the mark has already passed would close the position at once, so it is rejected. */
export function requireAhead(venue: Venue, figures: PositionFigures, { field, level, price }: Wanted): void {
  const { pairIndex, long } = figures;
  const mark = markIn(marketView(venue.feed.config(), figures)?.state, requireLastPrice(venue, pairIndex));
  const isAbove = (level === 'tp') === long;
  if (isAbove ? price > mark : price < mark) return;
  const at = formatDecimal(decimal(mark, PRICE_DECIMALS));
  throw invalid(field, `must be ${isAbove ? 'above' : 'below'} the mark price ${at} of a ${long ? 'long' : 'short'}`);
}

/** Prepares a TP/SL change in one round trip; nothing is stored. */
export async function prepareProtection(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  protection: Omit<ProtectIntent, 'kind'>,
): Promise<PreparedWrite> {
  try {
    return await prepareTransaction(gateway, venue, caller, { intent: { kind: 'protect', ...protection }, takes: null });
  } catch (error) {
    if (!isReverted(error) || error.details.errorName !== 'PendingTrigger') throw error;
    const reason = 'a keeper is closing the position by its take profit or stop loss';
    throw new GatewayError('ORDER_NOT_MODIFIABLE', { id: null, status: 'pending', reason });
  }
}
