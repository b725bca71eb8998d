import type { AgentCaller } from '../access/caller.js';
import { positionOf } from '../account/list-positions.js';
import { openingFacts } from '../caching/opening-reads.js';
import { decimal, round, type Decimal } from '../domain/decimal.js';
import { exposureRoom } from '../domain/pricing/exposure.js';
import { worstPrice } from '../domain/pricing/execution-price.js';
import { tradingFee } from '../domain/pricing/fees.js';
import { CONTRACTS_VERSION } from '../domain/pricing/market-view.js';
import type { IncreaseValues } from '../domain/pricing/predict-increase.js';
import { baseSizeForCollateral } from '../domain/pricing/size.js';
import { E3 } from '../domain/pricing/units.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { fromNode } from '../ports/chain.js';
import { onPosition, type HeldPosition } from './find-position.js';
import {
  belowStep,
  checkIncreaseScope,
  foreseeIncrease,
  planIncrease,
  tooOld,
  type ForeseenIncrease,
  type Increase,
  type IncreaseRequest,
} from './increase-position.js';
import { invalid, LEVERAGE_DECIMALS, PRICE_DECIMALS, SIZE_DECIMALS } from './order-request.js';
import { notionalUsd } from './prepare-order.js';
import {
  describeAccount,
  describeImpact,
  FEE_SCALE,
  FRACTION_SCALE,
  refusedBy,
  scopeVerdicts,
  type Quote,
  type QuoteAccount,
} from './quote-order.js';

export interface PositionQuoteRequest extends IncreaseRequest {
  readonly position: string;
  /** Where they are named, they must be those of the position. */
  readonly market?: string | undefined;
  readonly side?: 'long' | 'short' | undefined;
}

/** Quotes an addition to a position at the current state, on the terms of its trader. Nothing is simulated or stored. */
export async function quoteIncrease(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller | null,
  request: PositionQuoteRequest,
): Promise<Quote> {
  if (caller === null) throw new GatewayError('UNAUTHENTICATED', {});
  const { position, made } = await onPosition(gateway, venue, caller, request.position, async (figures) => {
    const increase = planIncrease(venue, figures, request);
    const { collateral, sizeCollateral } = increase;
    const [facts, account, scope] = await Promise.all([
      fromNode(openingFacts(venue, caller.trader, { ...figures, positionSizeCollateral: sizeCollateral })),
      fromNode(venue.chain.accountFacts(caller.trader, [collateral.address])),
      scopeVerdicts(gateway, venue, caller, { usd: notionalUsd(increase), check: (asked) => checkIncreaseScope(asked, increase) }),
    ]);
    return {
      increase,
      facts,
      account: describeAccount(account, { collateral, needed: increase.intent.collateralDelta, scope }),
      fee: account.feeMultiplier,
    };
  });
  const { increase, facts, account, fee } = made;
  if (request.market !== undefined && request.market !== increase.symbol) throw invalid('market', 'is not that of the position');
  if (request.side !== undefined && (request.side === 'long') !== position.figures.long)
    throw invalid('side', 'is not that of the position');
  if (position.own.info.contractsVersion < CONTRACTS_VERSION.v10) throw tooOld();
  const fees = fee === null ? null : { feeMultiplier: fee / FEE_SCALE, govFeeP: 0n };
  const foreseen = foreseeIncrease(venue, position, increase, { fees, facts });
  const { values, reason } = foreseen;
  if (values === null || reason === 'WRONG_TRADE')
    throw belowStep(position.own.trade.collateralAmount, increase.collateral, increase.intent);
  return describe(venue, position, increase, { foreseen, values, account });
}

interface Quoted {
  readonly foreseen: ForeseenIncrease;
  readonly values: IncreaseValues;
  readonly account: QuoteAccount;
}

const price = (units: bigint): Decimal => decimal(units, PRICE_DECIMALS);
const optional = (units: bigint): Decimal | null => (units === 0n ? null : price(units));

function describe(venue: Venue, { own, figures, place }: HeldPosition, increase: Increase, { foreseen, values, account }: Quoted): Quote {
  const { intent, collateral } = increase;
  const { context, reason: cancelReason, after } = foreseen;
  const { market, terms } = context;
  const { long, pairIndex, isCounterTrade } = figures;
  const amount = (units: bigint): Decimal => decimal(units, collateral.decimals);
  const { positionSizeCollateralDelta: added } = values;
  const size = baseSizeForCollateral({ collateralAmount: added, leverage: E3, price: increase.sizedAt, collateral, rounding: 'half-up' });
  const whole = (values.newCollateralAmount * values.newLeverage) / E3;
  return {
    market: increase.symbol,
    side: long ? 'long' : 'short',
    type: 'market',
    session: venue.feed.session(pairIndex, venue.clock.now()),
    size: round(decimal(size, 18), SIZE_DECIMALS, 'half-up'),
    leverage: decimal(increase.leverage, LEVERAGE_DECIMALS),
    collateral: collateral.symbol,
    collateralNeeded: amount(intent.collateralDelta),
    notionalUsd: notionalUsd(increase),
    price: price(intent.expectedPrice),
    expectedPrice: price(values.impact.priceAfterImpact),
    worstPrice: price(worstPrice({ expectedPrice: intent.expectedPrice, maxSlippageP: intent.slippageP, long, open: true })),
    impact: describeImpact(values.impact),
    fees: {
      open: amount(values.openingFee),
      close: amount(tradingFee({ market, positionSizeCollateral: whole, isCounterTrade, feeMultiplier: terms.feeMultiplier })),
      rate: decimal(market.fees.totalPositionSizeFeeP, FRACTION_SCALE),
      tierMultiplier: decimal(terms.feeMultiplier, 3),
    },
    liquidationPrice: price(values.newLiquidationPrice),
    sl: optional(after?.trade.sl ?? own.trade.sl),
    tp: optional(own.trade.tp),
    exposureRoom: amount(exposureRoom({ market, long, price: context.oraclePrice })),
    reason: refusedBy(venue, { pairIndex, type: 'market' }, { cancelReason }),
    account,
    position: positionOf(venue, after ?? own, place),
    timestamp: venue.clock.now(),
  };
}
