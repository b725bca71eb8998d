import type { AgentCaller } from '../access/caller.js';
import { tradeSize } from '../account/describe-order.js';
import { compare, decimal, divideInteger, formatDecimal, toUnits, type Decimal } from '../domain/decimal.js';
import type { Collateral } from '../domain/market.js';
import { predictClose, predictDecrease } from '../domain/pricing/predict-close.js';
import { marketView } from '../domain/pricing/market-view.js';
import { markIn } from '../domain/pricing/exposure.js';
import { worstPrice } from '../domain/pricing/execution-price.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { exactUnits, invalid, SIZE_DECIMALS, slippageUnits } from './order-request.js';
import type { PreparedOrder } from './find-order.js';
import { onPosition, type HeldPosition, type PositionFigures } from './find-position.js';
import { describePlaced, placeUnnamed } from './place-order.js';
import { closingSlippage, collateralAt, foresee, refuseForeseen, type Foreseen } from './position-order.js';
import { prepareClosings, requireClosable, type CheckedOrder, type Closing } from './prepare-order.js';

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
  const checked = await prepareClose(gateway, venue, caller, id, request);
  return describePlaced(venue, await placeUnnamed(gateway, venue, caller, { legs: [checked] }), checked.write);
}

/** Checks and simulates the order and its transaction with the chain's figures of the position; nothing is stored. */
export async function prepareClose(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  request: CloseRequest,
): Promise<CheckedOrder> {
  const { position, made } = await onPosition(gateway, venue, caller, id, async (figures) => {
    const closing = planClose(venue, caller, figures, request);
    const [checked] = await prepareClosings(gateway, venue, caller, [closing]);
    return { closing, checked };
  });
  refuseForeseen(foreseeClose(venue, position, made.closing), made.checked.write);
  return made.checked;
}

/** The expected price of a market close: the mark in the position's own collateral. Throws NOT_READY without a live price. */
export const closingMark = ({ feed }: Venue, position: Pick<PositionFigures, 'pairIndex' | 'collateralIndex'>): bigint =>
  markIn(marketView(feed.config(), position)?.state, feed.price(position.pairIndex));

export function planClose(venue: Venue, caller: AgentCaller, position: PositionFigures, request: CloseRequest): Closing {
  // Checked before the figures: a closed market may have no price.
  requireClosable(venue, caller, position);
  const slippageP = request.slippage === undefined ? null : slippageUnits(request.slippage);
  const common = {
    tradeIndex: position.tradeIndex,
    expectedPrice: request.expectedPrice ?? closingMark(venue, position),
    slippageP: slippageP === closingSlippage(position) ? null : slippageP,
  };
  const { size } = request;
  const delta = size === undefined ? position.collateralAmount : partOf(position, size, collateralAt(venue, position));
  if (delta === position.collateralAmount) return { position, intent: { kind: 'close', ...common } };
  const sizeBase = size && toUnits(size, BASE_DECIMALS, 'down');
  return { position, intent: { kind: 'decrease', ...common, collateralDelta: delta }, sizeBase };
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

export const tooSmall = ({ decimals, priceUsd }: Collateral): GatewayError =>
  new GatewayError('SIZE_BELOW_MINIMUM', { collateralUsd: '0', minCollateralUsd: formatDecimal(decimal(priceUsd, 8 + decimals)) });

function foreseeClose(venue: Venue, position: HeldPosition, { intent }: Closing): Foreseen | null {
  const { expectedPrice, slippageP } = intent;
  const { long } = position.figures;
  const maxSlippageP = slippageP ?? closingSlippage(position.figures);
  return foresee(venue, position, (context, { trade, account }) => {
    const request = { trade, account, expectedPrice, maxSlippageP };
    const outcome =
      intent.kind === 'close'
        ? predictClose(context, request)
        : predictDecrease(context, { ...request, collateralDelta: intent.collateralDelta, leverageDelta: 0n });
    const impact = 'values' in outcome ? outcome.values.impact : outcome.impact;
    const worst = worstPrice({ expectedPrice, maxSlippageP, long, open: false });
    return { reason: outcome.cancelReason, figures: outcome.cancelReason === 'SLIPPAGE' ? [impact.priceAfterImpact, worst] : [] };
  });
}
