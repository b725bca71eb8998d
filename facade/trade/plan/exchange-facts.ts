import type { AgentCaller } from '../../../core/access/caller.js';
import { maxLeverageOf, type PricePoint } from '../../../core/domain/market.js';
import type { ChosenLeverage, ExchangeOrder, NettedTrade, TranslationContext } from '../../../core/domain/relay/exchange-order.js';
import { MAX_SLIPPAGE_P } from '../../../core/domain/relay/translate-order.js';
import { minRemainingCollateral } from '../../../core/domain/pricing/fees.js';
import { marketView, type CollateralUnits } from '../../../core/domain/pricing/market-view.js';
import { markIn, PriceRangeError } from '../../../core/domain/pricing/exposure.js';
import { collateralForBaseSize, entryBase, positionSizeCollateral } from '../../../core/domain/pricing/size.js';
import type { PositionWithOpening, LeverageSetting, TraderFacts } from '../../../core/ports/stores/exchange.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { PositionFigures } from '../../../core/trading/find-position.js';
import type { StopBeyondCap } from '../../../core/config/facade.js';
import { currentPrice, orderMarket, type Opening, type OrderMarket } from '../../../core/trading/order-request.js';
import { tokensHeld } from '../../../core/trading/position-order.js';
import { predictCallback } from '../../../core/trading/precheck-callback.js';

/** Stored facts about a trader for an action; read once for all its items, without a node request. */
export interface ExchangeFacts {
  /** The database's time of the query. */
  readonly askedAt: number;
  readonly block: bigint;
  readonly positions: readonly HeldFigures[];
  readonly busy: ReadonlySet<number>;
  readonly leverage: ReadonlyMap<number, LeverageSetting>;
  /** Used if the bot never chose a leverage. */
  readonly usualLeverage: number;
  readonly stopBeyondCap: StopBeyondCap;
}

type HeldFigures = PositionFigures & Pick<PositionWithOpening, 'opening'>;

const LEVERAGE_UNIT = 1_000n;
const LEAST_CUSHION_P = 50n;
const PERCENT = 100_000n;

export async function exchangeFacts(
  { store, facade }: Gateway,
  venue: Venue,
  { trader }: AgentCaller,
  known?: TraderFacts,
): Promise<ExchangeFacts> {
  const { positions, busy, leverage, askedAt } = known ?? (await store.exchange.facts(venue.definition.slug, trader));
  return {
    askedAt,
    block: venue.state.followed.block ?? 0n,
    positions: positions.map(({ tradeIndex, position, opening }) => ({ ...position, tradeIndex, opening })),
    busy,
    leverage,
    usualLeverage: facade.leverage,
    stopBeyondCap: facade.stopBeyondCap,
  };
}

export interface Asked {
  readonly symbol: string;
  readonly pairIndex: number;
  /** The smallest displayed size of the market, 1e18. */
  readonly sizeStep: bigint;
  readonly order: ExchangeOrder;
}

/** Effects of earlier items of the action: trades they use, and closing slippages they set. */
interface Before {
  readonly taken: ReadonlySet<number>;
  readonly closingSlippages: ReadonlyMap<number, bigint>;
}

/** The facts that the translation of one order depends on. */
export function translationContext(
  venue: Venue,
  facts: ExchangeFacts,
  { symbol, pairIndex, sizeStep, order }: Asked,
  { tp, sl, ...before }: Before & { readonly tp: bigint; readonly sl: bigint },
): TranslationContext {
  const market = orderMarket(venue, { market: symbol });
  const point = currentPrice(venue, pairIndex);
  const { oracle } = point;
  const chosen = chosenLeverage(market, facts, pairIndex);
  const leverage = withinLimits(chosen);
  const predicted = predictPrice(venue, market, order, { oracle, leverage });
  const { precision, precisionDelta, priceUsd } = market.collateral;
  return {
    block: facts.block,
    pairIndex,
    collateralIndex: market.collateral.index,
    collateral: { precision, precisionDelta, priceUsd },
    oracle,
    mark: markIn(market.view.state, point),
    predicted,
    trades: facts.positions
      .filter((position) => position.pairIndex === pairIndex)
      .map((position) => netted(venue, facts, position, { ...before, point })),
    leverage,
    chosen,
    sizeStep,
    halfLot: sizeStep / 2n,
    cushionP: cushion(oracle, predicted),
    maxSlippageP: MAX_SLIPPAGE_P,
    tp,
    sl,
    ...(venue.referrers.relayed && { referrer: venue.referrers.relayed }),
  };
}

function chosenLeverage({ view }: Pick<OrderMarket, 'view'>, facts: ExchangeFacts, pairIndex: number): ChosenLeverage {
  const { leverage = facts.usualLeverage, action = null } = facts.leverage.get(pairIndex) ?? {};
  return { leverage, action, least: view.group.minLeverage, most: maxLeverageOf(view.pair, view.group) };
}

function withinLimits({ leverage, least, most }: ChosenLeverage): bigint {
  const wanted = BigInt(leverage) * LEVERAGE_UNIT;
  return wanted < least ? least : wanted > most ? most : wanted;
}

/** The expected execution price if the oracle answered now; the oracle's price if it cannot be computed. */
function predictPrice(
  venue: Venue,
  market: OrderMarket,
  { isBuy, size }: ExchangeOrder,
  { oracle, leverage }: { readonly oracle: bigint; readonly leverage: bigint },
): bigint {
  if (size === 0n) return oracle;
  const { pair, collateral } = market;
  const collateralAmount = collateralForBaseSize({ baseSize: size, price: oracle, leverage, collateral, rounding: 'half-up' });
  const terms = {
    type: 'market',
    pairIndex: pair.index,
    collateralIndex: collateral.index,
    long: isBuy,
    leverage,
    collateralAmount,
    price: oracle,
    tp: 0n,
    sl: 0n,
    slippageP: MAX_SLIPPAGE_P,
  } as const;
  const opening: Opening = {
    ...market,
    terms,
    sizeBase: size,
    sizeCollateral: positionSizeCollateral(terms),
    isPriceGiven: true,
    storedSl: 0n,
  };
  try {
    return predictCallback(venue, opening, { facts: null }).impact.priceAfterImpact;
  } catch (error) {
    if (error instanceof PriceRangeError) return oracle;
    throw error;
  }
}

/** Twice the current spread and impact, so that a resting order can still be filled in a slightly thinner market. */
function cushion(oracle: bigint, predicted: bigint): bigint {
  const away = predicted > oracle ? predicted - oracle : oracle - predicted;
  const doubled = (2n * away * PERCENT) / oracle + 1n;
  return doubled < LEAST_CUSHION_P ? LEAST_CUSHION_P : doubled > MAX_SLIPPAGE_P ? MAX_SLIPPAGE_P : doubled;
}

function netted(
  venue: Venue,
  { busy }: ExchangeFacts,
  position: HeldFigures,
  { taken, closingSlippages, point }: Before & { readonly point: PricePoint },
): NettedTrade {
  const { tradeIndex, long, collateralAmount, tp, sl, slippageP, opening } = position;
  const view = marketView(venue.feed.config(), position);
  return {
    tradeIndex,
    long,
    sizeBase: view === null ? tokensHeld(venue, position) : entryBase(position, view.collateral),
    collateralAmount,
    minCollateral: view === null ? 0n : minRemainingCollateral(view.fees, view.collateral),
    tp,
    sl,
    slippageP: closingSlippages.get(tradeIndex) ?? slippageP,
    mark: markIn(view?.state, point),
    isBusy: busy.has(tradeIndex) || taken.has(tradeIndex),
    excess: view === null || opening === null ? 0n : excessOf(position, opening, view.collateral),
  };
}

/** What remains of a trade beyond its order's size: the price moved in the trader's favour while the oracle answered. */
function excessOf(
  position: PositionFigures,
  { askedBase, sizeToken }: NonNullable<PositionWithOpening['opening']>,
  collateral: CollateralUnits,
): bigint {
  const beyond = entryBase({ ...position, sizeToken }, collateral) - askedBase;
  const held = entryBase(position, collateral);
  return beyond <= 0n ? 0n : beyond < held ? beyond : held;
}
