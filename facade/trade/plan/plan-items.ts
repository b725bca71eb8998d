import type { AgentCaller } from '../../../core/access/caller.js';
import type { Order } from '../../../core/domain/order.js';
import { type GuardRefusal, GuardrailError } from '../../../core/domain/relay/guardrails.js';
import type { ExchangeOrder, Leg, RefusedTranslation, Translation, TranslationContext } from '../../../core/domain/relay/exchange-order.js';
import { floorToLot } from '../../../core/domain/decimal.js';
import { translateOrder } from '../../../core/domain/relay/translate-order.js';
import { GatewayError, type ErrorCode, type ErrorDetails } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { translationContext, type ExchangeFacts } from './exchange-facts.js';
import type { WireTerms } from '../../../core/ports/stores/exchange.js';
import { sizeUsd } from '../../../core/trading/rules-of-opening.js';
import type { Cause, LimitMiss } from '../cause-texts.js';
import { withSlot } from './simulation-slots.js';
import { prepareLeg, type PreparedLeg } from '../../../core/trading/prepare-leg.js';
import { marketView } from '../../../core/domain/pricing/market-view.js';
import type { StopBeyondCap } from '../../../core/config/facade.js';
import type { PositionFigures } from '../../../core/trading/find-position.js';
import { storedStopLoss } from '../../../core/trading/order-request.js';

/** One order of an action. */
export interface ExchangeItem {
  /** Its position in the action. */
  readonly item: number;
  readonly symbol: string;
  readonly pairIndex: number;
  readonly sizeStep: bigint;
  readonly order: ExchangeOrder;
  readonly wire: WireTerms;
  readonly cloid: string | null;
  /** TP/SL of the position it opens; 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  /** Closing slippage for those two, 1e3 percent; 0 = the contract's default. */
  readonly closingSlippageP: bigint;
  /** TP/SL that came with it, as the bot sent them; absent if there are none. */
  readonly children?: readonly ChildItem[];
  /** Of a TP/SL that changes another one of its kind: what that one has. */
  readonly changes?: ChangedLevels;
}

export interface ChangedLevels {
  readonly kind: 'tp' | 'sl';
  readonly trades: ReadonlySet<number>;
}

/** A child order, which becomes a level of what its parent opens. */
export type ChildItem = Pick<ExchangeItem, 'item' | 'pairIndex' | 'order' | 'wire' | 'cloid'>;

export type ItemOutcome =
  | { readonly kind: 'filled'; readonly oid: bigint; readonly orders: readonly Order[] }
  /** `mayOpen`: part of it may still open or increase a position. */
  | { readonly kind: 'resting'; readonly oid: bigint; readonly txHash: string | null; readonly mayOpen: boolean }
  /** `cause`: the figures that the contract compared, as far as they are known. */
  | { readonly kind: 'rejected'; readonly reason: Order['reason']; readonly cause: Cause | null }
  | (RefusedTranslation & { readonly missed?: LimitMiss })
  /** The contract would move, or drop, its stop loss. */
  | ({ readonly kind: 'stop-beyond-cap' } & BeyondCap)
  /** Refused by a rule of the operator. */
  | { readonly kind: 'guarded'; readonly refusal: GuardRefusal }
  | { readonly kind: 'failed'; readonly error: GatewayError };

export interface Plan {
  readonly asked: ExchangeItem;
  readonly context: TranslationContext;
  readonly translation: Translation;
  /** It missed its price and is placed again to rest at its limit. */
  readonly isLeftToRest: boolean;
}

export interface Failure {
  readonly outcome: ItemOutcome;
}

export const failure = (outcome: ItemOutcome): Failure => ({ outcome });

const isKnown = (error: unknown): error is GatewayError => error instanceof GatewayError;

/** Errors of the catalogue become outcomes; anything else is a bug and is thrown. */
export function failed(error: unknown): Failure {
  if (isKnown(error)) return failure({ kind: 'failed', error });
  if (error instanceof GuardrailError) return failure({ kind: 'guarded', refusal: error.refusal });
  throw error;
}

export const unsupported = (reason: string): ItemOutcome => ({ kind: 'failed', error: new GatewayError('UNSUPPORTED', { reason }) });

const AGAINST_OPENINGS: ReadonlySet<ErrorCode> = new Set([
  'MARKET_CLOSED',
  'SIZE_BELOW_MINIMUM',
  'LEVERAGE_OUT_OF_RANGE',
  'SCOPE_LEVERAGE_EXCEEDED',
  'SCOPE_SPEND_CAP_EXCEEDED',
]);
/** Errors about levels that make the whole order invalid. */
const BAD_LEVELS: ReadonlySet<string> = new Set(['TradeTpInvalid', 'TradeSlInvalid', 'TP_REACHED', 'SL_REACHED']);

/** Whether an error concerns only the opening of a flip, so that its closes are still valid. */
export function isOnlyAgainstOpening(error: unknown): boolean {
  if (error instanceof GuardrailError) return true;
  if (!isKnown(error)) return false;
  if (error.code === 'NOT_READY') return (error.details as ErrorDetails<'NOT_READY'>).concerns === 'openings';
  if (error.code !== 'SIMULATION_REVERTED') return AGAINST_OPENINGS.has(error.code);
  return !BAD_LEVELS.has((error.details as ErrorDetails<'SIMULATION_REVERTED'>).errorName);
}

/** Reads nothing: for each item, trades that earlier items will close are busy, and slippages that they will set are in effect. */
export function planItems(venue: Venue, facts: ExchangeFacts, items: readonly ExchangeItem[]): (Plan | Failure)[] {
  const taken = new Set<number>();
  const closingSlippages = new Map<number, bigint>();
  return items.map((asked) => {
    try {
      const context = ownFirst(translationContext(venue, facts, asked, { taken, closingSlippages, tp: asked.tp, sl: asked.sl }), asked);
      const translation = translateOrder(asked.order, context);
      const beyond = beyondCap(venue, facts, legsOf(translation), context);
      if (beyond !== null) return failure({ kind: 'stop-beyond-cap', ...beyond });
      for (const { intent } of legsOf(translation)) {
        if (intent.kind === 'close' || intent.kind === 'decrease') taken.add(intent.tradeIndex);
        if (intent.kind === 'protect' && intent.slippageP !== undefined) closingSlippages.set(intent.tradeIndex, intent.slippageP);
      }
      return { asked, context, translation, isLeftToRest: false };
    } catch (error) {
      return failed(error);
    }
  });
}

/**
 * A changed TP/SL stays on its trades: the oldest ones may have another order's. It gets further trades only if it is for more, first those
 * that have none. The relayer repeats the translation, so the order of the trades is part of the context.
 */
function ownFirst(context: TranslationContext, { changes, order: { size } }: ExchangeItem): TranslationContext {
  if (changes === undefined) return context;
  const own = context.trades.filter(({ tradeIndex }) => changes.trades.has(tradeIndex));
  const others = context.trades.filter((trade) => !own.includes(trade));
  const withoutLevel = others.filter((trade) => trade[changes.kind] === 0n);
  if (size === 0n) return { ...context, trades: [...own, ...withoutLevel] };
  const held = own.reduce((total, { sizeBase }) => total + sizeBase, 0n);
  if (size <= floorToLot(held, context.sizeStep)) return { ...context, trades: own };
  return { ...context, trades: [...own, ...withoutLevel, ...others.filter((trade) => !withoutLevel.includes(trade))] };
}

const legsOf = (translation: Translation): readonly Leg[] => (translation.kind === 'legs' ? translation.legs : []);

/** Plans the order as a resting one: its price was available a moment ago and is beyond the limit now. */
export function planRest({ asked, context }: Plan): Plan {
  const { isBuy, limit } = asked.order;
  const resting: ExchangeItem = { ...asked, order: atRest(asked.order) };
  const moved = { ...context, predicted: isBuy ? limit + 1n : limit - 1n };
  return { asked: resting, context: moved, translation: translateOrder(resting.order, moved), isLeftToRest: true };
}

/** Whether an opening of the plan includes half a lot more than requested. */
export const isSizedUp = ({ context, translation }: Plan): boolean =>
  (context.halfLot ?? 0n) > 0n && legsOf(translation).some(({ role }) => role === 'open');

/** The same order without the extra half lot, if the trader's funds or rules do not allow it. */
export function planExact({ asked, context, isLeftToRest }: Plan): Plan {
  const exact = { ...context, halfLot: 0n };
  return { asked, context: exact, translation: translateOrder(asked.order, exact), isLeftToRest };
}

const BEYOND_FUNDS: ReadonlySet<string> = new Set(['ERC20InsufficientBalance', 'ERC20InsufficientAllowance']);

/** Whether an opening was refused for its amount, so that a smaller one may pass. */
function isTooMuch(error: unknown): boolean {
  if (!isKnown(error)) return error instanceof GuardrailError && error.refusal.rule === 'open-notional';
  if (error.code !== 'SIMULATION_REVERTED') return error.code === 'SCOPE_SPEND_CAP_EXCEEDED';
  return BEYOND_FUNDS.has((error.details as ErrorDetails<'SIMULATION_REVERTED'>).errorName);
}

/** The same for an outcome. */
export const wasTooMuch = (outcome: ItemOutcome): boolean =>
  outcome.kind === 'guarded' ? outcome.refusal.rule === 'open-notional' : outcome.kind === 'failed' && isTooMuch(outcome.error);

export const atRest = (order: ExchangeOrder): ExchangeOrder => ({ ...order, style: { kind: 'limit', tif: 'Alo' } });

/** A refusal of the plan, with the prices that an order missed. */
export function refusalOf({ asked, context }: Plan, refused: RefusedTranslation): ItemOutcome {
  if (refused.why !== 'no-match') return refused;
  const { limit, isBuy } = asked.order;
  return { ...refused, missed: { limit, isBuy, oracle: context.oracle, predicted: context.predicted } };
}

export interface Prepared extends Plan {
  readonly manner: 'market' | 'resting' | 'protection';
  readonly legs: readonly PreparedLeg[];
}

export async function prepareItem(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  facts: ExchangeFacts,
  plan: Plan | Failure,
): Promise<Prepared | Failure> {
  if ('outcome' in plan) return plan;
  const { translation } = plan;
  if (translation.kind === 'refused') return failure(refusalOf(plan, translation));
  try {
    const prepare = (): Promise<readonly PromiseSettledResult<PreparedLeg>[]> =>
      Promise.allSettled(translation.legs.map((leg) => prepareLeg(gateway, venue, caller, leg, facts)));
    const isExit = translation.legs.every(({ role }) => role === 'close');
    // All legs are simulated in the same round trip.
    const tried = await (isExit ? prepare() : withSlot(venue, caller.trader, prepare));
    const isBeyond = tried.some(
      (each, at) => each.status === 'rejected' && translation.legs[at]?.role === 'open' && isTooMuch(each.reason),
    );
    if (isBeyond && isSizedUp(plan)) return await prepareItem(gateway, venue, caller, facts, planExact(plan));
    return { ...plan, manner: translation.manner, legs: countCloses(goodLegs(translation.legs, tried)) };
  } catch (error) {
    return failed(error);
  }
}

/** If the opening fails, the closes of the same order are still sent. */
function goodLegs(legs: readonly Leg[], tried: readonly PromiseSettledResult<PreparedLeg>[]): readonly PreparedLeg[] {
  const good = tried.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const closes = good.filter(({ leg }) => leg.role === 'close');
  for (const [at, each] of tried.entries()) {
    const leg = legs[at];
    if (each.status === 'rejected' && !(leg && closes.length > 0 && isDispensable(leg, each.reason))) throw each.reason;
  }
  return good;
}

/** Whether the other closes should be sent without this leg: the opening of a flip, or a part too small to be closed. */
function isDispensable({ role, intent }: Leg, error: unknown): boolean {
  if (role === 'open') return isOnlyAgainstOpening(error);
  return intent.kind === 'decrease' && isKnown(error) && error.code === 'SIZE_BELOW_MINIMUM';
}

/** The closes of the same order free exposure for its opening, which is held back until they are executed. */
function countCloses(legs: readonly PreparedLeg[]): readonly PreparedLeg[] {
  const closes = legs.flatMap(({ leg, draft }) => (leg.role === 'close' && draft !== null ? [draft.order] : []));
  return legs.map((prepared): PreparedLeg => {
    const guard = prepared.draft?.guard;
    if (!prepared.draft || guard === undefined) return prepared;
    const freedUsd = closes.reduce((total, order) => total + sizeUsd(guard, order), 0n);
    return { ...prepared, draft: { ...prepared.draft, guard: { ...guard, freedUsd } } };
  });
}

export interface BeyondCap {
  /** 1e10: the nearest price at which every trade of the order keeps its stop loss; null if fees allow none. */
  readonly nearest: bigint | null;
  /** The side of the protected position. */
  readonly long: boolean;
}

interface Stop {
  readonly asked: bigint;
  readonly kept: bigint;
  readonly long: boolean;
}

/** null if the contract stores every stop loss of an order at its requested price. A stop loss that it would drop is always refused. */
function beyondCap(
  venue: Venue,
  { positions, stopBeyondCap }: { readonly positions: readonly PositionFigures[]; readonly stopBeyondCap: StopBeyondCap },
  legs: readonly Leg[],
  context: TranslationContext,
): BeyondCap | null {
  const stops = legs.flatMap((leg) => stopOf(venue, positions, leg, context) ?? []);
  const moved = stops.filter(({ asked, kept }) => kept !== asked);
  const [first] = moved;
  if (first === undefined) return null;
  const { long } = first;
  if (moved.some(({ kept }) => kept === 0n)) return { nearest: null, long };
  if (stopBeyondCap === 'move') return null;
  return { nearest: moved.map(({ kept }) => kept).reduce((a, b) => (a > b === long ? a : b)), long };
}

function stopOf(venue: Venue, positions: readonly PositionFigures[], { intent }: Leg, { predicted }: TranslationContext): Stop | null {
  const config = venue.feed.config();
  if (intent.kind === 'open') {
    const view = intent.sl === 0n ? null : marketView(config, intent);
    const price = intent.type === 'market' ? predicted : intent.price;
    return view && { asked: intent.sl, kept: storedStopLoss(view, { ...intent, price }), long: intent.long };
  }
  if (intent.kind !== 'protect' || intent.sl === null || intent.sl === 0n) return null;
  const position = positions.find(({ tradeIndex }) => tradeIndex === intent.tradeIndex);
  const view = position && marketView(config, position);
  if (!position || !view) return null;
  const { openPrice: price, long, leverage } = position;
  return { asked: intent.sl, kept: storedStopLoss(view, { sl: intent.sl, price, long, leverage }), long };
}
