import type { EventPlace, Level, PositionFound, Settled } from '../domain/chain-event.js';
import { plainTerms } from '../domain/interpret-executions.js';
import type { OrderFill } from '../domain/order.js';
import { foldOrder, levelOf } from '../domain/order-machine.js';
import type { PositionState } from '../domain/position.js';
import { tokensAtOpen } from '../domain/pricing/size.js';
import { unaccounted } from '../domain/unaccounted.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { KeptTransaction } from '../ports/stores/contract.js';
import {
  merge,
  NO_CHANGES,
  tradeRefKey,
  type Changes,
  type StoredOrder,
  type TrackingUnit,
  type TradeRef,
} from '../ports/stores/tracking.js';
import type { Hex } from '../types.js';
import { applyFresh } from './apply-events.js';
import { refreshStanding } from './contract-standing.js';
import { precisionsOf } from './interpret-range.js';

/** What the operator found out about a transaction that this release cannot read. */
export interface Settlement {
  readonly txHash: Hex;
  readonly as: 'filled' | 'rejected';
  /** 1e10; absent for an opening: the price that the contract stored with the trade. */
  readonly price?: bigint | undefined;
  /** The trade that an opening made. */
  readonly tradeIndex?: number | undefined;
  /** Collateral units. */
  readonly fee?: bigint | undefined;
}

const MOST = 1_000;

/** Ends the orders of the transaction as the operator says, and stops waiting for its logs to be read. Returns the orders. */
export async function settleUnread(gateway: Gateway, venue: Venue, given: Settlement): Promise<readonly bigint[]> {
  const { slug } = venue.definition;
  const { store, clock } = gateway;
  const [kept, waiting] = await Promise.all([store.contract.unread(slug, MOST), store.contract.unexplained(slug, MOST)]);
  const transaction = kept.find(({ place, settled }) => place.txHash === given.txHash && settled === null);
  if (transaction === undefined) throw new GatewayError('UNSUPPORTED', { reason: `No transaction ${given.txHash} waits to be settled.` });
  const ids = waiting.filter(({ txHash }) => txHash === given.txHash).map(({ id }) => id);
  // After all its logs, so that a release that can read them supersedes what the operator says.
  const last = Math.max(0, ...transaction.raw.map(({ logIndex }) => logIndex));
  const place = { ...transaction.place, logIndex: last + 1 };
  const closed = closedIn(venue, transaction);
  const at = clock.now();
  const { changes, block } = await store.tracking.change(slug, async (unit) => {
    const cursor = await unit.cursor();
    const rows = (await unit.orders({ refs: [], ids })).filter(({ order }) => order?.unexplained === given.txHash);
    const ends = await endsOf(unit, { rows, closed, given, at, place });
    const events = await Promise.all(
      rows
        .filter(({ order }) => order === null || levelOf(order) === null)
        .map(async (row): Promise<{ row: StoredOrder; event: Settled } | null> => {
          if (row.orderKey === null || row.order === null) return null;
          const fill = given.as === 'filled' ? await fillOf(venue, row, given, at) : null;
          const about = { trader: row.trader, orderKey: row.orderKey, tradeIndex: null, place };
          return { row, event: { kind: 'settled', ...about, fill, settledAt: at } };
        }),
    );
    const settled = await apply(
      unit,
      events.flatMap((one) => one ?? []),
    );
    const ended = await applyFresh(unit, ends);
    await unit.settleUnread(given.txHash, { at, note: given.as });
    const done = merge(settled, ended);
    unit.publish(at, done.journalEntries);
    return { changes: done, block: cursor?.number ?? 0n };
  });
  gateway.bus.emit('tracked', { venue, block, changes });
  await refreshStanding(gateway, venue);
  venue.log.warn('chain.settled', { txHash: given.txHash, as: given.as, orders: ids });
  return changes.orders.map(({ id }) => id);
}

/** The trades of which the transaction has the log of their end. */
const closedIn = ({ chain }: Venue, { place, raw }: Pick<KeptTransaction, 'place' | 'raw'>): TradeRef[] =>
  unaccounted(chain.read(place, raw).logs).flatMap(({ trader, orderKey }) =>
    orderKey?.startsWith('resting:') ? [{ trader, tradeIndex: Number(orderKey.slice('resting:'.length)) }] : [],
  );

interface Gone {
  readonly rows: readonly StoredOrder[];
  readonly closed: readonly TradeRef[];
  readonly given: Settlement;
  readonly at: number;
  readonly place: EventPlace;
}

/** The ends of the positions that are gone since the transaction. Their take profits and stop losses end with them. */
async function endsOf(unit: TrackingUnit, { rows, closed, given, at, place }: Gone): Promise<PositionFound[]> {
  const ofRows = rows.flatMap(({ trader, order }) => (order?.tradeIndex == null ? [] : [{ trader, tradeIndex: order.tradeIndex }]));
  const refs = [...new Map([...closed, ...ofRows].map((ref) => [tradeRefKey(ref), ref])).values()];
  const positions = await unit.positions(refs);
  return refs.flatMap((ref, nth): PositionFound[] => {
    const position = positions.get(tradeRefKey(ref)) ?? null;
    if (position?.goneIn !== given.txHash) return [];
    const isRequested = rows.some(
      ({ trader, order }) => trader === ref.trader && order?.tradeIndex === ref.tradeIndex && levelOf(order) === null,
    );
    const by = given.as === 'rejected' || isRequested ? null : triggerAt(position, given.price);
    const { sizeToken, isCounterTrade, collateralAmount: collateral, slippageP, openedBlock } = position;
    const { price = 0n, fee = 0n } = given;
    const fill = { price, sizeToken, collateralPriceUsd: position.entryPriceUsd ?? null, collateral, fee, txHash: given.txHash };
    const ended = { by, fill: by === null ? null : { ...fill, at, tradeIndex: ref.tradeIndex }, settledAt: at };
    const trade = { ...plainTerms(position), sizeToken, isCounterTrade };
    const about = {
      kind: 'found',
      ...ref,
      orderKey: null,
      place: { ...place, logIndex: place.logIndex === null ? null : place.logIndex + nth },
    } as const;
    return [{ ...about, trade, isOpen: false, isReread: true, slippageP, openedBlock, ended }];
  });
}

/** The trigger that was executed at the price: the nearer one. */
function triggerAt({ tp, sl }: Pick<PositionState, Level>, price: bigint | undefined): Level | null {
  if (tp === 0n && sl === 0n) return null;
  if (price === undefined) throw new GatewayError('UNSUPPORTED', { reason: 'Say the price at which it was executed.' });
  if (tp === 0n || sl === 0n) return tp === 0n ? 'sl' : 'tp';
  return distance(tp, price) < distance(sl, price) ? 'tp' : 'sl';
}

const distance = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b);

async function apply(unit: TrackingUnit, all: readonly { readonly row: StoredOrder; readonly event: Settled }[]): Promise<Changes> {
  const moved = all.map(({ row, event }) => ({ event, row: { ...row, order: foldOrder(row.order, event) } }));
  await unit.append(moved.map(({ row, event }) => ({ event, orderId: row.id })));
  const orders = moved.map(({ row }) => row);
  unit.saveOrders(orders);
  const [first] = moved;
  if (first) await unit.refoldTriggers([...new Set(orders.map(({ trader }) => trader))], first.event.place.blockNumber);
  const journalEntries = orders.flatMap(({ id, trader, order }) =>
    order === null ? [] : [{ trader, fact: { kind: 'order' as const, id, order } }],
  );
  return { ...NO_CHANGES, events: moved.map(({ event }) => event), orders, journalEntries };
}

async function fillOf(venue: Venue, { trader, order }: StoredOrder, given: Settlement, at: number): Promise<OrderFill> {
  if (order === null) throw new TypeError('an order without a state is not settled');
  const tradeIndex = order.tradeIndex ?? given.tradeIndex;
  if (tradeIndex === undefined) throw new GatewayError('UNSUPPORTED', { reason: 'An opening made a trade: say which, by its index.' });
  const [found] = order.action === 'open' ? await venue.chain.trades([{ trader, tradeIndex }], null) : [];
  const price = given.price ?? (found === undefined || found.trade.openPrice === 0n ? undefined : found.trade.openPrice);
  if (price === undefined) throw new GatewayError('UNSUPPORTED', { reason: 'Say the price at which it was executed.' });
  const precision = precisionsOf(venue)(order.collateralIndex);
  const { sizeCollateral, collateralAmount } = order;
  const computed = precision === null ? 0n : tokensAtOpen({ sizeCollateral, openPrice: price, precision });
  return {
    price,
    sizeToken: found?.trade.positionSizeToken ?? order.sizeToken ?? computed,
    collateralPriceUsd: found === undefined || found.info.collateralPriceUsd === 0 ? null : BigInt(found.info.collateralPriceUsd),
    collateral: collateralAmount,
    fee: given.fee ?? 0n,
    txHash: given.txHash,
    at,
    tradeIndex,
  };
}
