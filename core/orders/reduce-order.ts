import type { AgentCaller } from '../access/caller.js';
import type { ListedPosition } from '../account/account-store.js';
import { tradeSize } from '../account/describe-order.js';
import { compare, type Decimal } from '../domain/decimal.js';
import { LEVEL_OF_TYPE, levelOf } from '../domain/level.js';
import type { Level } from '../domain/level-event.js';
import { checkMarket } from '../domain/scope.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { prepareClose } from './close-position.js';
import { exactUnits, invalid, priceUnits, SIZE_DECIMALS } from './exact-units.js';
import { isWhole, notWhole, prepareLevel, shownSize, type PreparedLevel } from './level-order.js';
import { fingerprintOf } from './order-fingerprint.js';
import { orderMarket, type OrderMarket, type OrderRequest } from './order-request.js';
import type { Draft } from './orders-store.js';
import type { PreparedTransaction } from './prepare-transaction.js';

/**
 * An order that only reduces never opens anything. At the market it closes the oldest opposite position, or a part of it; a limit or stop
 * waits as the take profit or stop loss of the one it closes whole. One order is one request on chain: what would take several is
 * refused, not begun.
 */
export async function draftReduction(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  request: OrderRequest,
): Promise<{ readonly draft: Draft; readonly transaction: PreparedTransaction }> {
  const market = orderMarket(venue, request);
  checkMarket(caller.scope, market.symbol);
  const opposite = await oppositeOf(gateway, venue, caller, request, market);
  const { order, write } = await (request.type === 'market' ? prepareMarket : prepareWaiting)(gateway, venue, caller, {
    request,
    market,
    opposite,
  });
  const { maxUnsent } = gateway.orders;
  const about = {
    chain: venue.definition.slug,
    agent: caller.agent,
    fingerprint: fingerprintOf(gateway, venue, request),
    spend: null,
    maxUnsent,
  };
  return {
    transaction: write.transaction,
    draft: { ...write.handedOut, ...about, order: { ...order, clientId: request.clientId ?? null } },
  };
}

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
  { request, market, opposite: [oldest] }: Reduction,
): Promise<PreparedLevel> {
  const size = partOf(request.size, tradeSize(oldest.position, market.collateral));
  const price = request.price === undefined ? undefined : priceUnits('price', request.price);
  const asked = { size, slippage: request.slippage, expectedPrice: price };
  const { order, write } = await prepareClose(gateway, venue, caller, oldest.id.toString(), asked);
  return { write, order: { ...order, price: price ?? 0n } };
}

/** Of positions of the same size each gets its own, the oldest first; once all have one, the oldest gets another. */
async function prepareWaiting(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { request, market, opposite }: Reduction,
): Promise<PreparedLevel> {
  const level = LEVEL_OF_TYPE[request.type];
  if (level === null || request.price === undefined) throw invalid('price', `is required for a ${request.type} order`);
  const sizeOf = ({ position }: ListedPosition): Decimal => tradeSize(position, market.collateral);
  const [first, ...others] = opposite.filter((listed) => isWhole(request.size, sizeOf(listed)));
  if (!first) throw notWhole(request.type, opposite.map(sizeOf));
  const chosen =
    others.length === 0
      ? first
      : await firstWithout(gateway, venue, caller, { level, among: [first, ...others], clientId: request.clientId });
  return prepareLevel(gateway, venue, caller, chosen.id.toString(), { level, request: { ...request, price: request.price } });
}

interface Choice {
  readonly level: Level;
  readonly among: readonly [ListedPosition, ...ListedPosition[]];
  /** Of the order that asks; when it is handed out afresh, it is not in its own way. */
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

/** undefined = all of it. */
function partOf(size: Decimal, held: Decimal): Decimal | undefined {
  if (isWhole(size, held)) return undefined;
  exactUnits('size', size, SIZE_DECIMALS);
  if (compare(size, held) < 0) return size;
  throw unsupported(`The oldest position is ${shownSize(held)}: an order reduces one position; send one for each.`);
}

const unsupported = (reason: string): GatewayError => new GatewayError('UNSUPPORTED', { reason });
