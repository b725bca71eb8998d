import type { AgentCaller } from '../access/caller.js';
import type { ListedPosition } from '../account/account-store.js';
import { tradeSize } from '../account/describe-order.js';
import { absolute, compare, decimal, formatDecimal, round, subtract, type Decimal } from '../domain/decimal.js';
import { checkMarket } from '../domain/scope.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { prepareClose } from './close-position.js';
import { exactUnits, priceUnits, SIZE_DECIMALS } from './exact-units.js';
import { fingerprintOf } from './order-fingerprint.js';
import { orderMarket, type OrderMarket, type OrderRequest } from './order-request.js';
import type { Draft } from './orders-store.js';
import type { PreparedTransaction } from './prepare-transaction.js';

/** Sizes of positions are shown with more digits than an order may have: this close is the same. */
const HAIR = decimal(1n, SIZE_DECIMALS);

/**
 * An order that only reduces closes the oldest opposite position, or a part of it, and never opens anything. One order is one request
 * on chain: what would take several is refused, not begun.
 */
export async function draftReduction(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  request: OrderRequest,
): Promise<{ readonly draft: Draft; readonly transaction: PreparedTransaction }> {
  const market = orderMarket(venue, request);
  checkMarket(caller.scope, market.symbol);
  const oldest = await oldestOpposite(gateway, venue, caller, request, market);
  if (request.type !== 'market')
    throw unsupported(`A ${request.type} that only reduces is the ${GUARD[request.type]} of its position: PATCH /positions/${oldest.id}.`);
  const size = partOf(request.size, tradeSize(oldest.position, market.collateral));
  const price = request.price === undefined ? undefined : priceUnits('price', request.price);
  const asked = { size, slippage: request.slippage, expectedPrice: price };
  const { order, write } = await prepareClose(gateway, venue, caller, oldest.id.toString(), asked);
  const named = { ...order, clientId: request.clientId ?? null, price: price ?? 0n };
  const { maxUnsent } = gateway.orders;
  const about = { chain: venue.definition.slug, agent: caller.agent, fingerprint: fingerprintOf(request), spend: null, maxUnsent };
  return { transaction: write.transaction, draft: { ...write.handedOut, ...about, order: named } };
}

const GUARD = { limit: 'take profit', stop: 'stop loss' } as const;

async function oldestOpposite(
  gateway: Gateway,
  venue: Venue,
  { trader }: AgentCaller,
  { side }: OrderRequest,
  { pair, collateral, symbol }: OrderMarket,
): Promise<ListedPosition> {
  const open = await gateway.store.account.openPositions(venue.definition.slug, trader);
  const opposite = open.filter(
    ({ position }) =>
      position.pairIndex === pair.index && position.collateralIndex === collateral.index && position.long === (side === 'short'),
  );
  const [first, ...others] = opposite;
  if (!first)
    throw unsupported(`There is no ${side === 'short' ? 'long' : 'short'} position in ${symbol} with ${collateral.symbol} to reduce.`);
  return others.reduce((oldest, other) => (isOlder(other, oldest) ? other : oldest), first);
}

const isOlder = (a: ListedPosition, b: ListedPosition): boolean =>
  a.position.openedBlock === b.position.openedBlock ? a.tradeIndex < b.tradeIndex : a.position.openedBlock < b.position.openedBlock;

/** undefined = all of it. */
function partOf(size: Decimal, held: Decimal): Decimal | undefined {
  if (compare(absolute(subtract(size, held)), HAIR) < 0) return undefined;
  exactUnits('size', size, SIZE_DECIMALS);
  if (compare(size, held) < 0) return size;
  throw unsupported(
    `The oldest position is ${formatDecimal(round(held, SIZE_DECIMALS, 'down'))}: an order reduces one position; send one for each.`,
  );
}

const unsupported = (reason: string): GatewayError => new GatewayError('UNSUPPORTED', { reason });
