import { formatUnits } from 'viem/utils';
import type { ClosePositionRequest, CreateOrderRequest } from './api.js';
import type { StoredTrade } from './chain-reader.js';
import { isWithin } from './decimal.js';
import type { Call } from './decode-calls.js';
import { ClientError, requireSame, VerificationError } from './errors.js';
import {
  priceUnits,
  referencePrice,
  requireCollateral,
  requireMarket,
  requireNear,
  requirePrice,
  slippageUnits,
  storedSlippage,
  units,
  type Context,
} from './verify-context.js';
import { baseOf, levelOf, requirePosition, storedTrade } from './verify-stored.js';

/** A closing of one position, with the closing slippage that is set just before where it changes. */
interface Closing {
  readonly trade: StoredTrade;
  readonly expectedPrice: bigint;
  /** Null closes all of it. */
  readonly collateralDelta: bigint | null;
  readonly slippageP: number | null;
}

/** Reads closings one after the other; any other call is refused. */
async function readClosings(context: Context, calls: readonly Call[]): Promise<readonly Closing[]> {
  const closings: Closing[] = [];
  const seen = new Set<number>();
  let slippage: { readonly index: number; readonly value: number } | null = null;
  for (const call of calls) {
    if (call.functionName === 'updateMaxClosingSlippageP' && slippage === null) {
      slippage = { index: call.args[0], value: call.args[1] };
      continue;
    }
    if (call.functionName !== 'closeTradeMarket' && call.functionName !== 'decreasePositionSize') throw strange(call);
    const index = call.args[0];
    if (seen.has(index) || (slippage !== null && slippage.index !== index))
      throw new VerificationError('CALLS', `the calls do not belong to one position each (index ${index})`);
    seen.add(index);
    if (call.functionName === 'decreasePositionSize') requireSame('LEVERAGE', 'a closing must not change the leverage', 0, call.args[2]);
    closings.push({
      trade: await storedTrade(context, index),
      expectedPrice: call.functionName === 'closeTradeMarket' ? call.args[1] : call.args[3],
      collateralDelta: call.functionName === 'closeTradeMarket' ? null : call.args[1],
      slippageP: slippage?.value ?? null,
    });
    slippage = null;
  }
  if (slippage !== null || closings.length === 0) throw new VerificationError('CALLS', 'the transaction closes nothing');
  return closings;
}

const strange = ({ functionName }: Call): VerificationError =>
  new VerificationError('FUNCTION', 'the transaction calls a function that this operation has no use for', null, functionName);

/** Slippage as asked, set only where the position has another one; without a wish the stored one stays. */
export function requireClosingSlippage(trade: StoredTrade, asked: string | undefined, set: number | null): void {
  const wanted = asked === undefined ? storedSlippage(trade) : slippageUnits(asked);
  const sentence = 'the closing slippage is another, in thousandths of a percent';
  if (asked === undefined && set !== null) throw new VerificationError('SLIPPAGE', sentence, 'no change', String(set));
  requireSame('SLIPPAGE', sentence, wanted, set ?? storedSlippage(trade));
}

export async function verifyClose(
  context: Context,
  { id, size, slippage }: ClosePositionRequest & { readonly id: string },
  calls: readonly Call[],
): Promise<void> {
  const view = await context.position(id);
  const [closing, ...others] = await readClosings(context, calls);
  if (closing === undefined || others.length > 0) throw new VerificationError('CALLS', 'the transaction closes more than one position');
  const { trade } = closing;
  await requirePosition(context, view, trade);
  requireClosingSlippage(trade, slippage, closing.slippageP);
  requireNear(context, 'the expected price is too far from the market', await referencePrice(context, view.market), closing.expectedPrice);
  await requireClosed(context, [closing], size);
}

/** A market order that only reduces closes opposite positions, oldest first. */
export async function verifyReduction(context: Context, asked: CreateOrderRequest, calls: readonly Call[]): Promise<void> {
  if (asked.type !== 'market') return verifyLevelOrder(context, asked, calls);
  const closings = await readClosings(context, calls);
  const reference = asked.price === undefined ? await referencePrice(context, asked.market) : null;
  for (const closing of closings) {
    await requireOpposite(context, asked, closing.trade);
    requireClosingSlippage(closing.trade, asked.slippage, closing.slippageP);
    if (asked.price !== undefined) requirePrice('PRICE', 'the price is another', priceUnits('price', asked.price), closing.expectedPrice);
    if (reference !== null) requireNear(context, 'the expected price is too far from the market', reference, closing.expectedPrice);
  }
  // Oldest first, each as a whole: what is left over is taken from the last one.
  if (closings.slice(0, -1).some(({ collateralDelta }) => collateralDelta !== null))
    throw new VerificationError('SIZE', 'only the last position may be closed in part');
  await requireClosed(context, closings, asked.size);
}

async function requireOpposite(context: Context, asked: CreateOrderRequest, trade: StoredTrade): Promise<void> {
  requireSame('TYPE', 'the transaction closes what is no position', 0, trade.tradeType);
  await requireMarket(context, asked.market, trade.pairIndex);
  requireSame(
    'SIDE',
    'an order that only reduces closes the opposite side',
    asked.side === 'long' ? 'short' : 'long',
    trade.long ? 'long' : 'short',
  );
  await requireCollateral(context, asked.collateral, trade.collateralIndex);
}

/** A limit or stop that only reduces becomes the take profit or stop loss of a position. */
async function verifyLevelOrder(context: Context, asked: CreateOrderRequest, calls: readonly Call[]): Promise<void> {
  const { index, slippageP, tp, sl } = readLevels(calls);
  const trade = await storedTrade(context, index);
  await requireOpposite(context, asked, trade);
  if (asked.price === undefined) throw new ClientError(`price is required for a ${asked.type} order.`);
  const level = levelOf(asked);
  const [set, other] = level === 'tp' ? [tp, sl] : [sl, tp];
  if (set === null || other !== null) throw new VerificationError('FUNCTION', `the transaction must set the ${level} and nothing else`);
  requirePrice('PRICE', 'the trigger price is another', priceUnits('price', asked.price), set);
  requireClosingSlippage(trade, asked.slippage, slippageP);
  requireSizes(units('size', asked.size, BASE_DECIMALS), await baseOf(context, trade), WHOLE_TOLERANCE);
}

export interface Levels {
  readonly index: number;
  /** Null where the transaction does not set it. */
  readonly tp: bigint | null;
  readonly sl: bigint | null;
  readonly slippageP: number | null;
}

/** Reads calls that set take profit, stop loss and closing slippage of one position, each at most once. */
export function readLevels(calls: readonly Call[]): Levels {
  const set: { tp: bigint | null; sl: bigint | null; slippageP: number | null } = { tp: null, sl: null, slippageP: null };
  const indices = new Set<number>();
  for (const call of calls) {
    if (call.functionName === 'updateTp' && set.tp === null) set.tp = call.args[1];
    else if (call.functionName === 'updateSl' && set.sl === null) set.sl = call.args[1];
    else if (call.functionName === 'updateMaxClosingSlippageP' && set.slippageP === null) set.slippageP = call.args[1];
    else throw strange(call);
    indices.add(call.args[0]);
  }
  const [index] = indices;
  if (index === undefined || indices.size > 1) throw new VerificationError('CALLS', 'the transaction changes more than one position');
  return { index, ...set };
}

const BASE_DECIMALS = 18;
const TOKEN_UNITS = 10n ** 18n;
/** The gateway sizes a position at the collateral's price of its opening, the chain has that of now. In millionths. */
const WHOLE_TOLERANCE = 20_000n;

function requireSizes(asked: bigint, found: bigint, tolerance: bigint): void {
  if (!isWithin(asked, found, tolerance, TOKEN_UNITS / 10n ** 8n))
    throw new VerificationError(
      'SIZE',
      'the transaction closes another size',
      formatUnits(asked, BASE_DECIMALS),
      formatUnits(found, BASE_DECIMALS),
    );
}

/** What all closings close together must be the size; without one, the whole of the one position. */
async function requireClosed(context: Context, closings: readonly Closing[], size: string | undefined): Promise<void> {
  if (size === undefined) {
    const partly = closings.find(({ collateralDelta }) => collateralDelta !== null);
    if (partly !== undefined) throw new VerificationError('SIZE', 'the transaction closes only a part', 'the whole position', 'a part');
    return;
  }
  let closed = 0n;
  for (const { trade, collateralDelta } of closings) {
    const base = await baseOf(context, trade);
    closed += collateralDelta === null ? base : (base * collateralDelta) / trade.collateralAmount;
  }
  requireSizes(units('size', size, BASE_DECIMALS), closed, WHOLE_TOLERANCE);
}
