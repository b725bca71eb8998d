import type { AgentCaller } from '../access/caller.js';
import type { ListedPosition } from '../ports/stores/account.js';
import { tradeSize } from '../account/describe-order.js';
import { add, compare, round, subtract, ZERO, type Decimal } from '../domain/decimal.js';
import { LEVEL_OF_TYPE, levelOf } from '../domain/order-machine.js';
import type { Level } from '../domain/chain-event.js';
import { checkMarket } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { planClose, prepareClose } from './close-position.js';
import { exactUnits, invalid, priceUnits, SIZE_DECIMALS, orderMarket, type OrderMarket, type OrderRequest } from './order-request.js';
import { SIZE_TOLERANCE, isWhole, notWhole, prepareLevel, shownSize } from './change-level.js';
import { prepareClosings, type CheckedOrder, type Closing } from './prepare-order.js';

/**
 * A reduce-only order never opens a position. A market order closes opposite positions, oldest first, the last one possibly in part: the
 * contract answers each close separately, so each is an order of its own, all in one transaction. A limit or stop becomes the take profit
 * or stop loss of the position it closes as a whole.
 */
export async function prepareReduction(gateway: Gateway, venue: Venue, caller: AgentCaller, request: OrderRequest): Promise<Reduced> {
  const market = orderMarket(venue, request);
  checkMarket(caller.scope, market.symbol);
  const opposite = await oppositeOf(gateway, venue, caller, request, market);
  const prepare = request.type === 'market' ? prepareMarket : prepareWaiting;
  return prepare(gateway, venue, caller, { request, market, opposite });
}

/** At least one. */
type Reduced = readonly [CheckedOrder, ...CheckedOrder[]];

interface Reduction {
  readonly request: OrderRequest;
  readonly market: OrderMarket;
  /** Oldest first; at least one. */
  readonly opposite: readonly [ListedPosition, ...ListedPosition[]];
}

async function prepareMarket(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { request, market, opposite }: Reduction,
): Promise<Reduced> {
  const expectedPrice = request.price === undefined ? undefined : priceUnits('price', request.price);
  const [first, ...others] = partsOf(request.size, opposite, market);
  const asked = { slippage: request.slippage, expectedPrice };
  const closingOf = ({ listed: { position, tradeIndex }, size }: Part): Closing =>
    planClose(venue, caller, { ...position, tradeIndex }, { ...asked, size });
  const [head, ...rest] =
    others.length === 0
      ? ([await prepareClose(gateway, venue, caller, first.listed.id.toString(), { ...asked, size: first.size })] as const)
      : await prepareClosings(gateway, venue, caller, [closingOf(first), ...others.map(closingOf)]);
  const priced = ({ draft, write }: CheckedOrder): CheckedOrder => ({
    write,
    draft: { ...draft, order: { ...draft.order, price: expectedPrice ?? 0n } },
  });
  return [priced(head), ...rest.map(priced)];
}

interface Part {
  readonly listed: ListedPosition;
  /** undefined = the whole position. */
  readonly size: Decimal | undefined;
}

/** This many closes fit well into one block. */
const MAX_POSITIONS = 20;

/** Oldest first; all but the last are closed as a whole. */
function partsOf(size: Decimal, opposite: Reduction['opposite'], market: OrderMarket): [Part, ...Part[]] {
  exactUnitsUnlessShown(size, opposite, market);
  const parts: Part[] = [];
  let left = size;
  for (const listed of opposite) {
    const held = tradeSize(listed.position, market.collateral);
    const isAll = isWhole(left, held) || compare(left, held) > 0;
    // The remainder may have more decimals than an order; rounded down so that no more than requested is closed.
    parts.push({ listed, size: isAll ? undefined : round(left, SIZE_DECIMALS, 'down') });
    left = isAll ? subtract(left, held) : ZERO;
    if (compare(left, SIZE_TOLERANCE) < 0) break;
  }
  const [first, ...others] = parts;
  if (first === undefined || compare(left, SIZE_TOLERANCE) >= 0) throw tooMuch(opposite, market);
  if (parts.length > MAX_POSITIONS) throw unsupported(`An order closes at most ${MAX_POSITIONS} positions; send several.`);
  return [first, ...others];
}

const tooMuch = (opposite: Reduction['opposite'], { collateral, symbol }: OrderMarket): GatewayError => {
  const held = opposite.map(({ position }) => tradeSize(position, collateral)).reduce(add, ZERO);
  return unsupported(`The positions in ${symbol} are ${shownSize(held)} in all: an order that only reduces closes no more.`);
};

/** Among positions of the same size, the oldest without a TP/SL is chosen; if all have one, the oldest. */
async function prepareWaiting(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { request, market, opposite }: Reduction,
): Promise<Reduced> {
  const level = LEVEL_OF_TYPE[request.type];
  if (level === null || request.price === undefined) throw invalid('price', `is required for a ${request.type} order`);
  const sizeOf = ({ position }: ListedPosition): Decimal => tradeSize(position, market.collateral);
  const [first, ...others] = opposite.filter((listed) => isWhole(request.size, sizeOf(listed)));
  if (!first) throw notWhole(request.type, opposite.map(sizeOf));
  const chosen =
    others.length === 0
      ? first
      : await firstWithout(gateway, venue, caller, { level, among: [first, ...others], clientId: request.clientId });
  return [await prepareLevel(gateway, venue, caller, chosen.id.toString(), { level, request: { ...request, price: request.price } })];
}

interface Choice {
  readonly level: Level;
  readonly among: readonly [ListedPosition, ...ListedPosition[]];
  /** Of the requesting order; its own earlier version does not count as taken when it is renewed. */
  readonly clientId: string | undefined;
}

async function firstWithout({ store }: Gateway, { definition }: Venue, { trader }: AgentCaller, { level, among, clientId }: Choice) {
  const live = await store.account.liveOrders(definition.slug, trader);
  const others = live.filter(({ order }) => levelOf(order) === level && (clientId === undefined || order.clientId !== clientId));
  const asked = new Set(others.map(({ order }) => order.tradeIndex));
  return among.find(({ tradeIndex, position }) => position[level] === 0n && !asked.has(tradeIndex)) ?? among[0];
}

async function oppositeOf(
  gateway: Gateway,
  venue: Venue,
  { trader }: AgentCaller,
  { side }: OrderRequest,
  { pair, collateral, symbol }: OrderMarket,
): Promise<Reduction['opposite']> {
  const open = await gateway.store.account.openPositions(venue.definition.slug, trader);
  const opposite = open.filter(
    ({ position }) =>
      position.pairIndex === pair.index && position.collateralIndex === collateral.index && position.long === (side === 'short'),
  );
  const [first, ...others] = opposite.sort(byAge);
  if (!first)
    throw unsupported(`There is no ${side === 'short' ? 'long' : 'short'} position in ${symbol} with ${collateral.symbol} to reduce.`);
  return [first, ...others];
}

const byAge = (a: ListedPosition, b: ListedPosition): number =>
  a.position.openedBlock === b.position.openedBlock ? a.tradeIndex - b.tradeIndex : Number(a.position.openedBlock - b.position.openedBlock);

/** Position sizes have more decimals than an order may have; a size sent back as it was shown is accepted. */
function exactUnitsUnlessShown(size: Decimal, opposite: Reduction['opposite'], { collateral }: OrderMarket): void {
  const [{ position }] = opposite;
  if (!isWhole(size, tradeSize(position, collateral))) exactUnits('size', size, SIZE_DECIMALS);
}

const unsupported = (reason: string): GatewayError => new GatewayError('UNSUPPORTED', { reason });
