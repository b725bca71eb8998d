import type { AgentCaller } from '../access/caller.js';
import { marketName, tradeSize } from '../account/describe-order.js';
import { compare, decimal, divideInteger, formatDecimal, toUnits, type Decimal } from '../domain/decimal.js';
import type { CloseIntent, DecreaseIntent } from '../domain/intent.js';
import type { Collateral } from '../domain/market.js';
import type { Order } from '../domain/order.js';
import { predictClose, predictDecrease } from '../domain/pricing/predict-close.js';
import { marketView } from '../domain/pricing/market-view.js';
import { positionSizeCollateral } from '../domain/pricing/size.js';
import { markIn } from '../domain/pricing/exposure.js';
import { worstPrice } from '../domain/pricing/execution-price.js';
import { checkMarket } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { exactUnits, invalid, SIZE_DECIMALS, slippageUnits } from './exact-units.js';
import { describeUnfilled, type PreparedOrder } from './find-order.js';
import { onPosition, type HeldPosition, type PositionFigures } from './find-position.js';
import {
  closingSlippage,
  collateralAt,
  foresee,
  placeChange,
  positionOrder,
  refuseForeseen,
  tokensHeld,
  type Foreseen,
  type PositionPart,
} from './position-order.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';

export interface CloseRequest {
  /** Base units; absent = the whole position. */
  readonly size?: Decimal | undefined;
  /** Percent; absent = the position's stored slippage. */
  readonly slippage?: Decimal | undefined;
  /** 1e10; absent = the mark. */
  readonly expectedPrice?: bigint | undefined;
}

/** Closes a position or a part of it at the market. The result is an ordinary order, which the oracle fills or rejects. */
export async function closePosition(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  request: CloseRequest,
): Promise<PreparedOrder> {
  const { order, write } = await prepareClose(gateway, venue, caller, id, request);
  const stored = await placeChange(gateway, venue, caller, order, write);
  return { order: describeUnfilled(venue, stored), transaction: write.transaction };
}

/** Checks and simulates the order and its transaction; nothing is stored. */
export async function prepareClose(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  request: CloseRequest,
): Promise<{ readonly order: Order; readonly write: PreparedWrite }> {
  const { position, made } = await onPosition(gateway, venue, caller, id, async (figures) => {
    const plan = planClose(venue, caller, figures, request);
    return { plan, write: await prepareTransaction(gateway, venue, caller, { intent: plan.intent, takes: null }) };
  });
  const { plan, write } = made;
  refuseForeseen(foreseeClose(venue, position, plan), write);
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  return { order: positionOrder(caller, position.figures, plan.part, times), write };
}

/** The expected price of a market close: the mark in the position's own collateral. Throws NOT_READY without a live price. */
export const closingMark = ({ feed }: Venue, position: Pick<PositionFigures, 'pairIndex' | 'collateralIndex'>): bigint =>
  markIn(marketView(feed.config(), position)?.state, feed.price(position.pairIndex));

/** Several closes in one transaction, each an order of its own, simulated together with the stored figures. */
export async function prepareCloses(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  closes: readonly { readonly figures: PositionFigures; readonly request: CloseRequest }[],
): Promise<{ readonly orders: readonly Order[]; readonly write: PreparedWrite }> {
  const plans = closes.map(({ figures, request }) => ({ figures, ...planClose(venue, caller, figures, request) }));
  const intent = { kind: 'reduce', parts: plans.map((plan) => plan.intent) } as const;
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null, others: plans.length - 1 });
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  return { orders: plans.map(({ figures, part }) => positionOrder(caller, figures, part, times)), write };
}

interface Plan {
  readonly intent: CloseIntent | DecreaseIntent;
  readonly part: PositionPart;
}

function planClose(venue: Venue, { scope }: AgentCaller, figures: PositionFigures, request: CloseRequest): Plan {
  const market = marketName(venue.feed.config(), figures.pairIndex);
  checkMarket(scope, market);
  if (venue.feed.session(figures.pairIndex, venue.clock.now()) === 'closed')
    throw new GatewayError('MARKET_CLOSED', { market, session: 'closed' });
  const asked = request.slippage === undefined ? closingSlippage(figures) : slippageUnits(request.slippage);
  const common = {
    tradeIndex: figures.tradeIndex,
    expectedPrice: request.expectedPrice ?? closingMark(venue, figures),
    slippageP: asked === closingSlippage(figures) ? null : asked,
  };
  const { leverage, collateralAmount } = figures;
  const sizeToken = tokensHeld(venue, figures);
  const sizeCollateral = positionSizeCollateral(figures);
  const delta = request.size === undefined ? collateralAmount : partOf(figures, request.size, collateralAt(venue, figures));
  if (delta === collateralAmount)
    return {
      intent: { kind: 'close', ...common },
      part: { action: 'close', leverage, collateralAmount, sizeCollateral, sizeToken, slippageP: asked },
    };
  const size = positionSizeCollateral({ collateralAmount: delta, leverage });
  const part = {
    collateralAmount: delta,
    sizeCollateral: size,
    sizeToken: (sizeToken * size) / sizeCollateral,
    ...(request.size && { asked: { sizeBase: toUnits(request.size, BASE_DECIMALS, 'down'), sizeCollateral: size } }),
  };
  return {
    intent: { kind: 'decrease', ...common, collateralDelta: delta },
    part: { action: 'decrease', leverage, slippageP: asked, ...part },
  };
}

/** The collateral of this size of the position, rounded down so that no more than the requested size is closed. */
function partOf(figures: PositionFigures, size: Decimal, collateral: Collateral): bigint {
  const shown = tradeSize(figures, collateral);
  const compared = compare(size, shown);
  if (compared === 0) return figures.collateralAmount;
  if (compared > 0) throw invalid('size', `must be at most ${formatDecimal(shown)}, the size of the position`);
  const units = exactUnits('size', size, SIZE_DECIMALS) * 10n ** BigInt(TOKEN_DECIMALS - SIZE_DECIMALS);
  const whole = figures.sizeToken > 0n ? figures.sizeToken * collateral.priceUsd : toUnits(shown, TOKEN_DECIMALS, 'up');
  const part = divideInteger(figures.collateralAmount * units, whole, 'down');
  if (part === 0n) throw tooSmall(collateral);
  return part;
}

/** Tokens have 18 decimals, the collateral's price 8. */
const TOKEN_DECIMALS = 26;
const BASE_DECIMALS = 18;

const tooSmall = ({ decimals, priceUsd }: Collateral): GatewayError =>
  new GatewayError('SIZE_BELOW_MINIMUM', { collateralUsd: '0', minCollateralUsd: formatDecimal(decimal(priceUsd, 8 + decimals)) });

function foreseeClose(venue: Venue, position: HeldPosition, { intent, part }: Plan): Foreseen | null {
  const { expectedPrice } = intent;
  const { long } = position.figures;
  return foresee(venue, position, (context, { trade, account }) => {
    const request = { trade, account, expectedPrice, maxSlippageP: part.slippageP };
    const outcome =
      intent.kind === 'close'
        ? predictClose(context, request)
        : predictDecrease(context, { ...request, collateralDelta: intent.collateralDelta, leverageDelta: 0n });
    const impact = 'values' in outcome ? outcome.values.impact : outcome.impact;
    const worst = worstPrice({ expectedPrice, maxSlippageP: part.slippageP, long, open: false });
    return { reason: outcome.cancelReason, figures: outcome.cancelReason === 'SLIPPAGE' ? [impact.priceAfterImpact, worst] : [] };
  });
}
