import type { AgentCaller } from '../access/caller.js';
import type { OpenIntent, OpenTerms } from '../domain/intent.js';
import { collateralToUsd, positionSizeCollateral } from '../domain/pricing/size.js';
import type { Leg } from '../domain/relay/exchange-order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { marketName } from '../domain/market.js';
import type { PositionFigures } from './find-position.js';
import { currentPrice, orderMarket, checkCollateral, storedStopLoss, type Opening } from './order-request.js';
import { decimal, formatDecimal, round } from '../domain/decimal.js';
import { tradingFee, pnlPercentP, rawPnl } from '../domain/pricing/fees.js';
import { marketView, STANDARD_TERMS } from '../domain/pricing/market-view.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { prepareClosings, prepareOpening, requireClosable, type Instead, type CheckedDraft, type CheckedOrder } from './prepare-order.js';

/** One leg of an exchange order, checked and simulated but not stored. */
export interface PreparedLeg {
  readonly leg: Leg;
  readonly write: PreparedWrite;
  /** null for a protection: it is no order of ours. */
  readonly draft: CheckedDraft | null;
}

/** What a leg is prepared with: the trader's positions, and the database's time when they were read. */
interface LegFacts {
  readonly positions: readonly PositionFigures[];
  readonly askedAt: number;
}

/** Takes one round trip; throws refusals of the rules or the contracts. */
export async function prepareLeg(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  { positions, askedAt }: LegFacts,
): Promise<PreparedLeg> {
  const { intent } = leg;
  if (intent.kind === 'open') return { leg, ...(await prepareRelayed(gateway, venue, caller, leg, { intent, askedAt, instead: null })) };
  if (intent.kind !== 'close' && intent.kind !== 'decrease') {
    const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
    return { leg, write, draft: null };
  }
  const position = positions.find(({ tradeIndex }) => tradeIndex === intent.tradeIndex);
  if (!position) throw new GatewayError('POSITION_NOT_FOUND', { id: String(intent.tradeIndex) });
  requireClosable(venue, caller, position);
  if (intent.kind === 'decrease') checkPart(venue, position, intent.collateralDelta);
  const [prepared] = await prepareClosings(gateway, venue, caller, [{ intent, position }]);
  return { leg, ...prepared };
}

/** Prepares the leg as a replacement of a resting order: one transaction does both, which frees the order's collateral. */
export async function prepareReplacement(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  { instead, askedAt }: { readonly instead: Instead; readonly askedAt: number },
): Promise<PreparedLeg> {
  if (leg.intent.kind !== 'open') throw new TypeError('only an entry can stand in for another');
  return { leg, ...(await prepareRelayed(gateway, venue, caller, leg, { intent: leg.intent, askedAt, instead })) };
}

function prepareRelayed(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { sizeBase }: Leg,
  { intent, instead, askedAt }: { readonly intent: OpenIntent; readonly instead: Instead | null; readonly askedAt: number },
): Promise<CheckedOrder> {
  checkCollateral(intent.collateralAmount);
  return prepareOpening(gateway, venue, caller, openingOf(venue, intent, sizeBase), { relayed: { askedAt }, instead });
}

const USD_DECIMALS = 6;

function openingOf(venue: Venue, terms: OpenTerms, sizeBase: bigint): Opening {
  const config = venue.feed.config();
  const collateral = config.collaterals.find(({ index }) => index === terms.collateralIndex);
  const market = orderMarket(venue, { market: marketName(config, terms.pairIndex), collateral: collateral?.symbol });
  return {
    ...market,
    terms,
    sizeBase,
    sizeCollateral: positionSizeCollateral(terms),
    isPriceGiven: true,
    storedSl: storedStopLoss(market.view, terms),
  };
}

/** A partial close worth less than its fee would be mined and then canceled by the contract, which wastes gas. */
function checkPart(venue: Venue, position: PositionFigures, collateralAmount: bigint): void {
  const market = marketView(venue.feed.config(), position);
  if (market === null) return;
  const { leverage, isCounterTrade, pairIndex } = position;
  const { feeMultiplier } = STANDARD_TERMS;
  const size = positionSizeCollateral({ collateralAmount, leverage });
  const fee = tradingFee({ market, positionSizeCollateral: size, isCounterTrade, feeMultiplier });
  const gain = rawPnl(collateralAmount, pnlPercentP({ ...position, price: currentPrice(venue, pairIndex).oracle }));
  if (collateralAmount + gain >= fee) return;
  const usd = (amount: bigint): string =>
    formatDecimal(round(decimal(collateralToUsd(amount, market.collateral), 18), USD_DECIMALS, 'half-up'));
  throw new GatewayError('SIZE_BELOW_MINIMUM', { collateralUsd: usd(collateralAmount), minCollateralUsd: usd(fee) });
}
