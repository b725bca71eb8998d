import { collateralOf } from '../../core/account/describe-order.js';
import { comparePlaces, type Executed } from '../../core/domain/chain-event.js';
import { add, divideInteger, parseDecimal } from '../../core/domain/decimal.js';
import type { MarketConfig } from '../../core/domain/market.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import type { FillWindow, SeenFill } from '../../core/ports/stores/history.js';
import type { Protection } from '../../core/ports/stores/protections.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { ZERO_TEXT, formatSize, formatTick, formatUsd, withPoint } from '../format.js';
import { coinPrice, coinSize, lotOf, type Asset } from '../universe.js';
import { shownOrderSize, sizeOf, type AccountContext } from './order-shapes.js';
import { excessId, showExecutions, type Execution, type ShownPart } from './shown-fills.js';

const NO_HASH = `0x${'0'.repeat(64)}`;
const SECOND_MS = 1_000;
/** How far back the other fills of an order are searched, which share its size. */
const MOST_BEFORE = 500;

/** A fill in wire format, with what it was made from. */
export interface ShownFill {
  readonly wire: WireFill;
  readonly asset: Asset;
  readonly part: ShownPart;
  readonly fill: SeenFill;
  /** The bot's order; null if there is none, or if this part exceeds the order's size. */
  readonly record: ExchangeRecord | null;
  /** The id of the executed order, also for a part that exceeds its size. */
  readonly executedOid: bigint;
}

/** All executions of a time range, in wire format. */
export async function listFills(account: AccountContext, window: FillWindow, isJoined = false): Promise<WireFill[]> {
  const fills = await readFills(account, window);
  return (isJoined ? joinFills(fills) : fills.map(({ wire }) => wire)).slice(0, window.limit);
}

/** The same with what each was made from. `limit` counts executions. */
export async function readFills(account: AccountContext, window: FillWindow): Promise<ShownFill[]> {
  const { gateway, venue, trader } = account;
  const { slug } = venue.definition;
  const { history } = gateway.store.facade;
  const units = venue.feed.config().collaterals;
  // Fills of one second differ by milliseconds, so the range starts with the whole second.
  const seconds = { ...window, from: window.from - SECOND_MS + 1 };
  const found = await history.fills(slug, trader, seconds, units);
  if (found.length === 0) return [];
  const orders = await ordersOf(account, found);
  const oldest = Math.min(...found.map(({ executed }) => executed.place.at));
  const first = await history.firstFillAt(
    slug,
    trader,
    [...orders.values()].flatMap(({ record }) => siblingsOf(record)),
  );
  const past = { from: first ?? 0, to: oldest - 1, limit: MOST_BEFORE, newestFirst: true };
  const earlier = first === null || first >= oldest ? [] : await history.fills(slug, trader, past, units);
  const shown = show(account, [...earlier, ...found], new Map([...(await ordersOf(account, earlier)), ...orders]));
  const within = shown.filter(({ part: { time } }) => time >= Math.max(window.from, oldest) && time <= window.to);
  return window.newestFirst ? within.reverse() : within;
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
  const natives = found.flatMap(({ by, executed }) => (by && !by.isRelayed && triggeredBy(executed) ? [by.id] : []));
  const [ids, records, successors] = await Promise.all([
    idsWithoutOrder(account, found),
    gateway.store.exchange.ofOrders(slug, relayed),
    gateway.store.facade.protections.successors(slug, trader, natives),
  ]);
  const numbers = new Map(found.map(({ id, by }) => [id, by ? (successors.get(by.id)?.oid ?? by.id) : ids.get(id)]));
  const unnamed = [...numbers.values()].flatMap((number) => (number === undefined || records.has(number) ? [] : [number]));
  const levels = await gateway.store.exchange.ofOids(slug, trader, unnamed);
  return new Map(
    [...numbers].flatMap(([id, number]) => {
      if (number === undefined) return [];
      const record = records.get(number) ?? levels.get(number) ?? null;
      return [[id, { oid: record?.oid ?? number, record }]];
    }),
  );
}

/** Oldest first. */
function show({ venue, universe, trader }: AccountContext, found: readonly SeenFill[], orders: ReadonlyMap<bigint, OfOrder>): ShownFill[] {
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
      return {
        fill,
        asset,
        part,
        record: named,
        executedOid: oid,
        wire: wireFill({ config, asset, fill, oid: part.isExcess ? excessId(fill.id) : oid, record: named, trader, part, share }),
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

const opens = ({ action }: Executed): boolean => action === 'open' || action === 'increase';
const isBuy = (executed: Executed): boolean => opens(executed) === executed.terms.long;

/** Ids for executions without an order: the take profit or stop loss that was hit, otherwise the position's id. */
async function idsWithoutOrder({ gateway, venue, trader }: AccountContext, fills: readonly SeenFill[]): Promise<Map<bigint, bigint>> {
  const { slug } = venue.definition;
  const alone = fills.filter(({ by }) => by === null);
  const triggered = alone.flatMap((fill) => {
    const protection = triggeredBy(fill.executed);
    return protection === null ? [] : [{ fill, protection }];
  });
  const [known, positions] = await Promise.all([
    gateway.store.facade.protections.identify(
      slug,
      trader,
      triggered.map(({ protection }) => protection),
      venue.clock.now(),
    ),
    alone.length === 0
      ? new Map<number, bigint>()
      : gateway.store.account.positionIds(
          slug,
          trader,
          alone.map(({ executed }) => executed.tradeIndex),
        ),
  ]);
  const ids = new Map(alone.map(({ id, executed }) => [id, positions.get(executed.tradeIndex) ?? 0n]));
  triggered.forEach(({ fill }, at) => ids.set(fill.id, known[at]?.id ?? 0n));
  return ids;
}

function triggeredBy({ action, terms, tradeIndex }: Executed): Protection | null {
  return action === 'tp' || action === 'sl' ? { tradeIndex, kind: action, price: terms[action] } : null;
}

/** The share of a part in an execution; the last part takes the rounding remainder. */
interface Share {
  readonly part: bigint;
  readonly total: bigint;
  readonly isLast: boolean;
}

const shareOf = (units: bigint, { part, total, isLast }: Share): bigint =>
  isLast ? units - divideInteger(units * (total - part), total, 'down') : divideInteger(units * part, total, 'down');

interface Shown {
  readonly config: MarketConfig;
  readonly asset: Asset;
  readonly fill: SeenFill;
  readonly oid: bigint;
  /** The bot's order, if there is one. */
  readonly record: ExchangeRecord | null;
  readonly trader: string;
  readonly part: ShownPart;
  readonly share: Share;
}

/** True for a resting order, or a limit order that rested as the take profit of the position it closes. */
const hasRested = ({ orderKey }: Executed, record: ExchangeRecord | null): boolean =>
  orderKey?.startsWith('resting:') === true || (record?.manner === 'protection' && record.order.style.kind === 'limit');

export type WireFill = ReturnType<typeof wireFill>;

function wireFill({ config, asset, fill, oid, record, trader, part, share }: Shown) {
  const { executed } = fill;
  const { terms, place, action, collateralPriceUsd } = executed;
  const cloid = record?.cloid ?? null;
  const collateral = collateralOf(config, terms.collateralIndex);
  const usd = (units: bigint): string =>
    collateral
      ? formatUsd(collateralToUsd(shareOf(units, share), { ...collateral, priceUsd: collateralPriceUsd ?? collateral.priceUsd }))
      : ZERO_TEXT;
  const size = (base: bigint): string => formatSize(coinSize(asset, base), asset.szDecimals, 'down');
  return {
    coin: asset.coin,
    px: formatTick(coinPrice(asset, executed.price), asset.szDecimals, 'half-up'),
    sz: size(part.size),
    side: isBuy(executed) ? 'B' : 'A',
    time: part.time,
    startPosition: size(part.start),
    dir: `${opens(executed) ? 'Open' : 'Close'} ${terms.long ? 'Long' : 'Short'}`,
    closedPnl: opens(executed) ? ZERO_TEXT : usd(executed.grossPnl),
    hash: place.txHash ?? NO_HASH,
    oid: Number(oid),
    crossed: !hasRested(executed, record),
    fee: usd(executed.fee),
    tid: Number(part.isExcess ? excessId(fill.id) : fill.id),
    feeToken: 'USDC',
    twapId: null,
    ...(cloid === null ? {} : { cloid }),
    ...(action === 'liquidation' ? { liquidation: liquidationOf(asset, executed, trader) } : {}),
  };
}

const liquidationOf = (asset: Asset, { oraclePrice }: Executed, liquidatedUser: string) => ({
  liquidatedUser,
  markPx: formatTick(coinPrice(asset, oraclePrice), asset.szDecimals, 'half-up'),
  method: 'market',
});

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
