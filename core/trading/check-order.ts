import type { AgentCaller } from '../access/caller.js';
import { decimal, formatDecimal, round, type Decimal } from '../domain/decimal.js';
import type { Intent } from '../domain/intent.js';
import type { OrderType } from '../domain/order.js';
import { checkLeverage, checkMarket } from '../domain/agent.js';
import { minOpeningCollateral } from '../domain/pricing/fees.js';
import { collateralToUsd, positionSizeCollateral } from '../domain/pricing/size.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { encodeIntent } from './encode-intent.js';
import { LEVERAGE_DECIMALS } from './exact-units.js';
import type { Opening, OrderMarket } from './order-request.js';
import { wouldRevert } from './refuse-revert.js';

/** Decimals of published USD amounts; the contract uses 18. */
const USD_DECIMALS = 6;

/** Limit and stop orders may rest while the market is closed: the oracle is not asked before it opens again. */
export function requireSession({ feed, clock }: Venue, { pair, symbol }: Pick<OrderMarket, 'pair' | 'symbol'>, type: OrderType): void {
  const session = feed.session(pair.index, clock.now());
  const mayRest = session === 'closed' && type !== 'market' && feed.config().tradingState === 'active';
  if (session !== 'open' && !mayRest) throw new GatewayError('MARKET_CLOSED', { market: symbol, session });
}

export const requireTradable = (venue: Venue, opening: Opening): void => requireSession(venue, opening, opening.terms.type);

/** Checks that do not depend on the state of the market. */
export function checkOpening(opening: Opening, trader: Address, intent?: Intent): void {
  const { terms, view, collateral } = opening;
  const minimum = minOpeningCollateral(view.fees, view.collateral);
  if (terms.collateralAmount < minimum) {
    const usd = (amount: bigint): string => formatDecimal(round(decimal(collateralToUsd(amount, collateral), 18), USD_DECIMALS, 'half-up'));
    const notional = positionSizeCollateral({ collateralAmount: minimum, leverage: terms.leverage });
    throw new GatewayError('SIZE_BELOW_MINIMUM', {
      collateralUsd: usd(terms.collateralAmount),
      minCollateralUsd: usd(minimum),
      leverage: formatDecimal(decimal(terms.leverage, LEVERAGE_DECIMALS)),
      // Rounded up to the cent, so that an order of this value is large enough.
      minNotionalUsd: formatDecimal(round(decimal(collateralToUsd(notional, collateral), 18), 2, 'up')),
    });
  }
  checkLevels(opening, trader, intent);
}

/** Take profit and stop loss must be on the correct side of the price. */
export function checkLevels({ terms }: Pick<Opening, 'terms'>, trader: Address, intent: Intent = { kind: 'open', ...terms }): void {
  const { tp, sl, price, long } = terms;
  const isWrong = (trigger: bigint, isAbove: boolean): boolean => trigger > 0n && (isAbove ? trigger <= price : trigger >= price);
  const inner = () => encodeIntent(intent, trader);
  if (isWrong(tp, long)) throw wouldRevert(inner(), 'TradeTpInvalid');
  if (isWrong(sl, !long)) throw wouldRevert(inner(), 'TradeSlInvalid');
}

/** Scope checks that need no stored data; the spending cap is checked when the order is stored. */
export function checkScope({ scope }: AgentCaller, { symbol, terms }: Opening): void {
  checkMarket(scope, symbol);
  checkLeverage(scope, decimal(terms.leverage, LEVERAGE_DECIMALS));
}

/** Notional in USD, rounded up so that rounding never exceeds a cap. */
export const notionalUsd = ({ sizeCollateral, collateral }: Opening): Decimal =>
  round(decimal(collateralToUsd(sizeCollateral, collateral), 18), USD_DECIMALS, 'up');
