import { comparePlaces, type Executed } from '../../core/domain/chain-event.js';
import { add, divideInteger, parseDecimal } from '../../core/domain/decimal.js';
import type { MarketConfig } from '../../core/domain/market.js';
import { COUNTED_TOGETHER, resultAlone, tradeResults, type TradeResult } from '../../core/domain/trade-results.js';
import { readFolded } from '../../core/indexer/net-positions.js';
import type { FillWindow, SeenFill } from '../../core/ports/stores/history.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { formatTick, withPoint } from '../format.js';
import { coinPrice, lotOf, type Asset } from '../universe.js';
import { shownOrderSize, sizeOf, type AccountContext } from './order-shapes.js';
import { excessId, showExecutions, type Execution, type ShownPart } from './shown-fills.js';
import { hasRested, opens, wireFill, type WireFill } from './wire-fill.js';

const SECOND_MS = 1_000;
/** How far back the other fills of an order are searched, which share its size. */
const MOST_BEFORE = 500;

/** A fill in wire format, with what it was made from. */
export interface ShownFill {
  readonly wire: WireFill;
  readonly asset: Asset;
  readonly part: ShownPart;
  readonly fill: SeenFill;
  /** Of the whole execution; null for openings, and where it was not asked for. */
  readonly result: TradeResult | null;
  /** The bot's order; null if there is none, or if this part exceeds the order's size. */
  readonly record: ExchangeRecord | null;
  /** The id of the executed order, also for a part that exceeds its size. */
  readonly executedOid: bigint;
}

/** Statuses of orders need none. */
export interface FillOptions {
  readonly withoutResults?: boolean;
}

/** All executions of a time range, in wire format. */
export async function listFills(account: AccountContext, window: FillWindow, isJoined = false): Promise<WireFill[]> {
  const fills = await readFills(account, window);
  return (isJoined ? joinFills(fills) : fills.map(({ wire }) => wire)).slice(0, window.limit);
}

/** The same with what each was made from. `limit` counts executions. */
export async function readFills(
  account: AccountContext,
  window: FillWindow,
  { withoutResults = false }: FillOptions = {},
): Promise<ShownFill[]> {
  const { gateway, venue, trader } = account;
  const { slug } = venue.definition;
  const { history } = gateway.store.facade;
  // Fills of one second differ by milliseconds, so the range starts with the whole second.
  const seconds = { ...window, from: window.from - SECOND_MS + 1 };
  const found = await readFolded(gateway, venue, () => history.fills(slug, trader, seconds));
  if (found.length === 0) return [];
  const [orders, results] = await Promise.all([ordersOf(account, found), withoutResults ? NO_RESULTS : resultsOf(account, found)]);
  const oldest = Math.min(...found.map(({ executed }) => executed.place.at));
  const first = await history.firstFillAt(
    slug,
    trader,
    [...orders.values()].flatMap(({ record }) => siblingsOf(record)),
  );
  const past = { from: first ?? 0, to: oldest - 1, limit: MOST_BEFORE, newestFirst: true };
  const earlier = first === null || first >= oldest ? [] : await readFolded(gateway, venue, () => history.fills(slug, trader, past));
  const shown = show(account, [...earlier, ...found], { orders: new Map([...(await ordersOf(account, earlier)), ...orders]), results });
  const within = shown.filter(({ part: { time } }) => time >= Math.max(window.from, oldest) && time <= window.to);
  return window.newestFirst ? within.reverse() : within;
}

const NO_RESULTS: ReadonlyMap<bigint, TradeResult> = new Map();

/** By the id of the execution. A close depends on what was executed on its trade before. */
async function resultsOf(
  { gateway, venue, trader }: AccountContext,
  found: readonly SeenFill[],
): Promise<ReadonlyMap<bigint, TradeResult>> {
  const closed = [...new Set(found.flatMap(({ executed }) => (opens(executed) ? [] : [executed.tradeIndex])))];
  const { history } = gateway.store.facade;
  const byTrade = new Map<number, { id: bigint; executed: Executed }[]>();
  for (const each of await history.executionsOf(venue.definition.slug, trader, closed, COUNTED_TOGETHER)) {
    const own = byTrade.get(each.executed.tradeIndex);
    if (own) own.push(each);
    else byTrade.set(each.executed.tradeIndex, [each]);
  }
  const alone = found.flatMap(({ id, executed }) => (opens(executed) ? [] : [[id, resultAlone(executed)] as const]));
  const together = [...byTrade.values()].flatMap((own) => {
    const results = tradeResults(own.map(({ executed }) => executed));
    return own.flatMap(({ id }, at) => (results[at] ? [[id, results[at]] as const] : []));
  });
  return new Map([...alone, ...together]);
}

/** All orders of ours that belong to the same bot order, if it has several. */
function siblingsOf(record: ExchangeRecord | null): bigint[] {
  const ids = record?.legs.flatMap(({ orderId }) => orderId ?? []) ?? [];
  return ids.length > 1 ? ids : [];
}

interface OfOrder {
  readonly oid: bigint;
  readonly record: ExchangeRecord | null;
}

/** The order of each fill, by fill id. */
async function ordersOf(account: AccountContext, found: readonly SeenFill[]): Promise<Map<bigint, OfOrder>> {
  if (found.length === 0) return new Map();
  const { gateway, venue, trader } = account;
  const { slug } = venue.definition;
  const relayed = found.flatMap(({ by }) => (by?.isRelayed ? [by.id] : []));
  const [positions, records, hits] = await Promise.all([
    positionsOf(account, found),
    gateway.store.exchange.ofOrders(slug, relayed),
    triggersHit(account, found),
  ]);
  const numbers = new Map(
    found.map(({ id, by, executed }) => [id, hits.get(hitKey(executed)) ?? by?.id ?? positions.get(executed.tradeIndex) ?? 0n]),
  );
  const unnamed = [...numbers.values()].filter((number) => !records.has(number));
  const triggers = await gateway.store.exchange.ofOids(slug, trader, unnamed);
  return new Map(
    [...numbers].map(([id, number]) => {
      const record = records.get(number) ?? triggers.get(number) ?? null;
      return [id, { oid: record?.oid ?? number, record }];
    }),
  );
}

interface Beside {
  readonly orders: ReadonlyMap<bigint, OfOrder>;
  readonly results: ReadonlyMap<bigint, TradeResult>;
}

/** Oldest first. */
function show({ venue, universe, trader }: AccountContext, found: readonly SeenFill[], { orders, results }: Beside): ShownFill[] {
  const config = venue.feed.config();
  const known = found
    .flatMap((fill) => {
      const asset = universe.assets[fill.executed.terms.pairIndex];
      const order = orders.get(fill.id);
      return asset && order ? [{ fill, asset, ...order }] : [];
    })
    .sort((a, b) => a.fill.executed.place.at - b.fill.executed.place.at || comparePlaces(a.fill.executed.place, b.fill.executed.place));
  const parts = showExecutions(
    known.map(({ fill, asset, record }) => ({
      before: fill.before,
      after: fill.after,
      lot: lotOf(asset),
      at: fill.executed.place.at,
      order: limitOf(config, asset, fill, record),
    })),
  );
  return known.flatMap(({ fill, asset, oid, record }, at) => {
    const own = parts[at] ?? [];
    const total = own.reduce((sum, { size }) => sum + size, 0n);
    return own.map((part): ShownFill => {
      const named = part.isExcess ? null : record;
      const share = { part: part.size, total, isLast: part === own.at(-1) };
      const result = results.get(fill.id) ?? null;
      const oidOfPart = part.isExcess ? excessId(fill.id) : oid;
      const isMaker = hasRested(fill, record);
      return {
        fill,
        asset,
        part,
        record: named,
        executedOid: oid,
        result,
        wire: wireFill({ config, asset, fill, oid: oidOfPart, record: named, trader, part, share, result, isMaker }),
      };
    });
  });
}

/** The maximum total size of an order's fills; null if no size was requested, as natively the collateral may be given instead. */
export function limitOf(
  config: MarketConfig,
  asset: Asset,
  { by }: Pick<SeenFill, 'by'>,
  record: ExchangeRecord | null,
): Execution['order'] {
  if (record) return record.order.size > 0n ? { key: String(record.oid), size: record.order.size } : null;
  return by?.opening ? { key: String(by.id), size: shownOrderSize(asset, sizeOf(config, { id: by.id, order: by.opening })) } : null;
}

/** An execution without an order has the id of its position. */
async function positionsOf({ gateway, venue, trader }: AccountContext, fills: readonly SeenFill[]): Promise<ReadonlyMap<number, bigint>> {
  const indices = fills.flatMap(({ by, executed }) => (by === null ? [executed.tradeIndex] : []));
  return indices.length === 0 ? new Map() : gateway.store.account.positionIds(venue.definition.slug, trader, indices);
}

const hitKey = ({ tradeIndex, action }: Pick<Executed, 'tradeIndex' | 'action'>): string => `trade:${tradeIndex} ${action}`;

/** The owners of the triggers that closed their trades. */
async function triggersHit({ gateway, venue, trader }: AccountContext, fills: readonly SeenFill[]): Promise<ReadonlyMap<string, bigint>> {
  const places = fills.flatMap(({ executed: { action, tradeIndex } }) =>
    action === 'tp' || action === 'sl' ? [`trade:${tradeIndex}` as const] : [],
  );
  const triggers = await gateway.store.facade.triggers.at(venue.definition.slug, trader, places);
  return new Map(triggers.flatMap(({ kind, place, end, owner }) => (end?.cause === kind ? [[`${place} ${kind}`, owner] as const] : [])));
}

/** Merges fills of one order in one transaction, at their average price. */
export function joinFills(fills: readonly ShownFill[]): WireFill[] {
  const joined = new Map<string, ShownFill[]>();
  for (const each of fills) {
    const key = `${each.wire.oid} ${each.wire.hash}`;
    joined.set(key, [...(joined.get(key) ?? []), each]);
  }
  return [...joined.values()].map((group) => {
    const inOrder = [...group].sort((a, b) => a.part.time - b.part.time);
    const [first] = inOrder;
    if (!first) throw new TypeError('a group of fills without a fill');
    if (inOrder.length === 1) return first.wire;
    const sum = (of: (wire: WireFill) => string): string => sumText(inOrder.map(({ wire }) => of(wire)));
    const { asset } = first;
    return {
      ...first.wire,
      px: formatTick(coinPrice(asset, averagePrice(inOrder)), asset.szDecimals, 'half-up'),
      sz: sum(({ sz }) => sz),
      closedPnl: sum(({ closedPnl }) => closedPnl),
      fee: sum(({ fee }) => fee),
    };
  });
}

/** 1e10; 0 if nothing was filled. */
export function averagePrice(fills: readonly Pick<ShownFill, 'part' | 'fill'>[]): bigint {
  const size = fills.reduce((sum, { part }) => sum + part.size, 0n);
  const paid = fills.reduce((sum, { part, fill }) => sum + part.size * fill.executed.price, 0n);
  return size === 0n ? 0n : divideInteger(paid, size, 'half-up');
}

const sumText = (texts: readonly string[]): string => withPoint(texts.map(parseDecimal).reduce(add));
