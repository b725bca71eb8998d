import type { FillAction } from '../domain/chain-event.js';
import { isFillAction } from '../domain/chain-event.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import { symbolOf, type Collateral, type MarketConfig } from '../domain/market.js';
import { tokensAtOpen } from '../domain/pricing/size.js';
import { E8 } from '../domain/pricing/units.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import type { ListedFill } from '../ports/stores/account.js';
import { LEVERAGE_SCALE, baseSize, collateralOf, priceOf } from './describe-order.js';
import { decodeCursor, encodeCursor, type Page, type PageQuery, type PageScope } from './list-orders.js';

export interface FillHistoryEntry {
  id: number;
  market: string | null;
  action: FillAction;
  /** Of the position. */
  side: 'long' | 'short';
  price: Decimal;
  size: Decimal;
  collateral: Decimal;
  leverage: Decimal;
  /** After all fees, in collateral. */
  pnl: Decimal;
  timestamp: number;
  txHash: Hex;
  positionId: string;
}

/** All fills, newest first in chain order. */
export async function listFills(gateway: Gateway, venue: Venue, trader: Address, query: PageQuery): Promise<Page<FillHistoryEntry>> {
  const { slug } = venue.definition;
  const scope: PageScope = { kind: 'fills', chain: slug, trader };
  const [block, logIndex] = query.cursor === undefined ? [] : decodeCursor(scope, query.cursor, 2);
  const before = block === undefined || logIndex === undefined ? null : { block, logIndex: Number(logIndex) };
  const found = await gateway.store.account.fillsBefore(slug, trader, before, query.limit + 1);
  const page = found.slice(0, query.limit);
  const ids = await gateway.store.account.positionIds(
    slug,
    trader,
    page.map(({ executed }) => executed.tradeIndex),
  );
  const config = venue.feed.config();
  return {
    data: page.flatMap((fill) => describeFill(config, fill, ids) ?? []),
    nextCursor: found.length > query.limit ? cursorAfter(scope, page) : null,
  };
}

function cursorAfter(scope: PageScope, page: readonly ListedFill[]): string | null {
  const place = page.at(-1)?.executed.place;
  return place ? encodeCursor(scope, [place.blockNumber, BigInt(place.logIndex ?? 0)]) : null;
}

/** Computed from the opening where the event has no token size: trades from before v10, and events stored before the collateral was loaded. */
const tokensOf = ({ sizeToken, sizeCollateral, terms }: ListedFill['executed'], collateral: Collateral | undefined): bigint =>
  sizeToken || !collateral
    ? (sizeToken ?? 0n)
    : tokensAtOpen({ sizeCollateral, openPrice: terms.openPrice, precision: collateral.precision });

/** null if the execution is not a fill. */
export function describeFill(
  config: MarketConfig,
  { id, executed }: ListedFill,
  ids: ReadonlyMap<number, bigint>,
): FillHistoryEntry | null {
  const { action, terms, place } = executed;
  const positionId = ids.get(executed.tradeIndex);
  if (!isFillAction(action) || positionId === undefined || place.txHash === null) return null;
  const pair = config.pairs[terms.pairIndex];
  const collateral = collateralOf(config, terms.collateralIndex);
  const decimals = collateral?.decimals ?? 18;
  return {
    id: Number(id),
    market: pair ? symbolOf(pair) : null,
    action,
    side: terms.long ? 'long' : 'short',
    price: priceOf(executed.price),
    size: baseSize(tokensOf(executed, collateral), executed.collateralPriceUsd ?? collateral?.priceUsd ?? E8),
    collateral: decimal(executed.collateral, decimals),
    leverage: decimal(terms.leverage, LEVERAGE_SCALE),
    pnl: decimal(executed.netPnl, decimals),
    timestamp: place.at,
    txHash: place.txHash,
    positionId: positionId.toString(),
  };
}
