import type { AgentCaller } from '../access/caller.js';
import { decimal, round, type Decimal } from '../domain/decimal.js';
import type { OrderReason, OrderType } from '../domain/order.js';
import type { OpenOutcome } from '../domain/pricing/predict-open.js';
import { exposureRoom, PriceRangeError } from '../domain/pricing/exposure.js';
import { capExceeded, isWithinCap, utcDay } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import { fromNode } from '../ports/chain.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { checkOpening, checkScope, notionalUsd } from './prepare-order.js';
import { encodeIntent } from './encode-intent.js';
import {
  currentPrice,
  orderMarket,
  readOpening,
  type AskedOpening,
  type Opening,
  type OrderRequest,
  LEVERAGE_DECIMALS,
  PRICE_DECIMALS,
  SIZE_DECIMALS,
} from './order-request.js';
import { predictCallback, reasonOf, viewAt } from './precheck-callback.js';
import { openingFacts } from '../caching/opening-reads.js';
import type { OpeningFacts } from '../ports/simulation.js';
import { wouldRevert } from './refuse-revert.js';
import { baseSizeForCollateral } from '../domain/pricing/size.js';
import type { OpenTerms } from '../domain/intent.js';
import type { Collateral, Session } from '../domain/market.js';
import type { Position } from '../account/list-positions.js';
import type { AccountFacts } from '../ports/account-chain.js';
import { tradingFee } from '../domain/pricing/fees.js';
import { STANDARD_TERMS } from '../domain/pricing/market-view.js';
import { worstPrice, type PriceImpact } from '../domain/pricing/execution-price.js';

const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000';
/** `AccountFacts.feeMultiplier` is 1e6, the pricing's 1e3. */
export const FEE_SCALE = 1000n;

/**
 * Quotes an opening at the current state. Without a caller only the feed is used and the node is not called. With a caller the trader's own
 * terms apply, and the quote shows whether wallet and scope allow it.
 */
export async function quoteOrder(gateway: Gateway, venue: Venue, caller: AgentCaller | null, request: OrderRequest): Promise<Quote> {
  if (request.reduceOnly)
    throw new GatewayError('UNSUPPORTED', { reason: 'A quote describes an opening; an order that only reduces has none.' });
  const opening = readOpening(venue, orderMarket(venue, request), request);
  checkOpening(opening, caller?.trader ?? ZERO_ADDRESS);
  const own = caller === null ? null : await askAccount(gateway, venue, caller, opening);
  const outcome = predict(venue, opening, own);
  return describeQuote(
    venue,
    { ...opening, view: viewAt(opening, own?.facts ?? null) },
    {
      outcome,
      reason: refusedBy(venue, opening.terms, outcome),
      account: own?.account ?? null,
      feeMultiplier: own?.feeMultiplier,
    },
  );
}

interface Own {
  readonly account: QuoteAccount;
  readonly facts: OpeningFacts | null;
  readonly feeMultiplier?: bigint;
}

async function askAccount(gateway: Gateway, venue: Venue, caller: AgentCaller, opening: Opening): Promise<Own> {
  const { collateral, terms } = opening;
  const [facts, own, scope] = await Promise.all([
    fromNode(venue.chain.accountFacts(caller.trader, [collateral.address])),
    fromNode(openingFacts(venue, caller.trader, { ...terms, positionSizeCollateral: opening.sizeCollateral })),
    scopeVerdicts(gateway, venue, caller, { usd: notionalUsd(opening), check: (asked) => checkScope(asked, opening) }),
  ]);
  const account = describeAccount(facts, { collateral, needed: terms.collateralAmount, scope });
  return { account, facts: own, ...(facts.feeMultiplier === null ? {} : { feeMultiplier: facts.feeMultiplier / FEE_SCALE }) };
}

/** Whether the wallet has what is needed, and what the scope has against it. */
export function describeAccount(
  facts: AccountFacts,
  { collateral, needed, scope }: { readonly collateral: Collateral; readonly needed: bigint; readonly scope: QuoteAccount['scope'] },
): QuoteAccount {
  const token = facts.tokens[0] ?? { balance: 0n, allowance: 0n };
  const units = (amount: bigint): Decimal => decimal(amount, collateral.decimals);
  return {
    balance: units(token.balance),
    allowance: units(token.allowance),
    isFunded: token.balance >= needed && token.allowance >= needed,
    feeTierMultiplier: facts.feeMultiplier === null ? null : decimal(facts.feeMultiplier, 6),
    scope,
  };
}

/** All scope violations, with the same errors as the write. */
export async function scopeVerdicts(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { usd, check: checkWith }: { readonly usd: Decimal; readonly check: (caller: AgentCaller) => void },
): Promise<QuoteAccount['scope']> {
  const { agent, trader, scope } = caller;
  const verdicts: GatewayError[] = [];
  if (scope.permissions !== 'trade') verdicts.push(new GatewayError('SCOPE_READ_ONLY', { agent }));
  for (const part of [
    { ...scope, maxLeverage: null },
    { ...scope, markets: 'all' as const },
  ]) {
    const verdict = refusalIn(() => checkWith({ ...caller, scope: part }));
    if (verdict !== null) verdicts.push(verdict);
  }
  const { dailySpendCapUsd: cap } = scope;
  if (cap !== null) {
    const account = { chain: venue.definition.slug, agent, trader, day: utcDay(venue.clock.now()) };
    const spent = await gateway.store.spend.spent(account);
    if (!isWithinCap(cap, spent, usd)) verdicts.push(capExceeded(cap, spent, usd));
  }
  return verdicts.map(({ code, message }) => ({ code, message }));
}

function refusalIn(check: () => void): GatewayError | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

function predict(venue: Venue, opening: Opening, own: Own | null): OpenOutcome {
  try {
    const multiplier = own?.feeMultiplier;
    return predictCallback(venue, opening, {
      facts: own?.facts ?? null,
      ...(multiplier === undefined ? {} : { feeMultiplier: multiplier }),
    });
  } catch (error) {
    if (error instanceof PriceRangeError) throw wouldRevert(encodeIntent({ kind: 'open', ...opening.terms }, ZERO_ADDRESS), error.code);
    throw error;
  }
}

/** A closed or paused market comes first, because the oracle does not answer then. */
export function refusedBy(
  { feed, clock }: Venue,
  { pairIndex, type }: Pick<OpenTerms, 'pairIndex' | 'type'>,
  outcome: Pick<OpenOutcome, 'cancelReason'>,
): OrderReason | null {
  const session = feed.session(pairIndex, clock.now());
  if (feed.config().tradingState === 'paused' || session === 'close_only') return 'PAUSED';
  if (session === 'disabled' || (session === 'closed' && type === 'market')) return 'MARKET_CLOSED';
  return reasonOf(outcome);
}

/** The predicted result of an order, in decimal units. */
export interface Quote {
  market: string;
  side: 'long' | 'short';
  type: OrderType;
  session: Session;
  size: Decimal;
  leverage: Decimal;
  collateral: string;
  collateralNeeded: Decimal;
  notionalUsd: Decimal;
  price: Decimal;
  expectedPrice: Decimal;
  worstPrice: Decimal;
  impact: { spreadPercent: Decimal; volumePercent: Decimal; skewPercent: Decimal; totalPercent: Decimal };
  fees: { open: Decimal; close: Decimal; rate: Decimal; tierMultiplier: Decimal };
  liquidationPrice: Decimal;
  sl: Decimal | null;
  tp: Decimal | null;
  exposureRoom: Decimal;
  reason: OrderReason | null;
  account: QuoteAccount | null;
  /** Of an increase: the position as it will be. */
  position: Position | null;
  timestamp: number;
}

export interface QuoteAccount {
  balance: Decimal;
  allowance: Decimal;
  isFunded: boolean;
  /** 1 = the full fee. */
  feeTierMultiplier: Decimal | null;
  scope: { code: string; message: string }[];
}

export const describeImpact = (impact: PriceImpact): Quote['impact'] => ({
  spreadPercent: percent(impact.fixedSpreadP),
  volumePercent: percent(impact.volumeImpactP),
  skewPercent: percent(impact.skewImpactP),
  totalPercent: percent(impact.totalImpactP),
});

interface Quoted {
  readonly outcome: OpenOutcome;
  readonly reason: OrderReason | null;
  readonly account: QuoteAccount | null;
  /** 1e3. */
  readonly feeMultiplier: bigint | undefined;
}

/** `…P` figures: 1e10 percent; as a fraction two more. */
const PERCENT_SCALE = 10;
export const FRACTION_SCALE = 12;

const price = (units: bigint): Decimal => decimal(units, PRICE_DECIMALS);
const percent = (units: bigint): Decimal => decimal(units, PERCENT_SCALE);
const optional = (units: bigint): Decimal | null => (units === 0n ? null : price(units));

function describeQuote(venue: Venue, opening: AskedOpening, { outcome, reason, account, feeMultiplier }: Quoted): Quote {
  const { terms, view, collateral, symbol, pair } = opening;
  const { impact, positionSizeCollateral } = outcome;
  const { long } = terms;
  const amount = (units: bigint): Decimal => decimal(units, collateral.decimals);
  const multiplier = feeMultiplier ?? STANDARD_TERMS.feeMultiplier;
  const oraclePrice = terms.type === 'market' ? currentPrice(venue, pair.index).oracle : terms.price;
  return {
    market: symbol,
    side: long ? 'long' : 'short',
    type: terms.type,
    session: venue.feed.session(pair.index, venue.clock.now()),
    size: round(
      decimal(baseSizeForCollateral({ ...terms, price: opening.sizedAt, collateral, rounding: 'half-up' }), 18),
      SIZE_DECIMALS,
      'half-up',
    ),
    leverage: decimal(terms.leverage, LEVERAGE_DECIMALS),
    collateral: collateral.symbol,
    collateralNeeded: amount(terms.collateralAmount),
    notionalUsd: notionalUsd(opening),
    price: price(terms.price),
    expectedPrice: price(impact.priceAfterImpact),
    worstPrice: price(worstPrice({ expectedPrice: terms.price, maxSlippageP: terms.slippageP, long, open: true })),
    impact: describeImpact(impact),
    fees: {
      open: amount(outcome.openingFee),
      close: amount(tradingFee({ market: view, positionSizeCollateral, isCounterTrade: false, feeMultiplier: multiplier })),
      rate: decimal(view.fees.totalPositionSizeFeeP, FRACTION_SCALE),
      tierMultiplier: decimal(multiplier, 3),
    },
    liquidationPrice: price(outcome.liquidationPrice),
    sl: optional(opening.storedSl),
    tp: optional(terms.tp),
    exposureRoom: amount(exposureRoom({ market: view, long, price: oraclePrice })),
    reason,
    account,
    position: null,
    timestamp: venue.clock.now(),
  };
}
