import { baseSize, collateralOf } from '../../core/account/describe-order.js';
import type { Executed } from '../../core/domain/chain-event.js';
import { toUnits } from '../../core/domain/decimal.js';
import type { MarketConfig } from '../../core/domain/market.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import { E8 } from '../../core/domain/pricing/units.js';
import type { FillWindow, SeenFill } from '../../core/facade/history-store.js';
import type { Protection } from '../../core/facade/protection-store.js';
import type { ExchangeRecord } from '../../core/relay/exchange-store.js';
import { BASE_SCALE, ZERO_TEXT, formatExact, formatSize, formatTick, formatUsd } from '../format.js';
import { coinPrice, coinSize, type Asset } from '../universe.js';
import { positionBase } from './open-orders.js';
import type { Whose } from './order-status.js';

const NO_HASH = `0x${'0'.repeat(64)}`;

/** Everything that was executed in a stretch of time, with the net position it began from. */
export async function listFills(whose: Whose, window: FillWindow) {
  const { gateway, venue, universe, trader } = whose;
  const found = await gateway.store.facade.history.fills(venue.definition.slug, trader, window);
  if (found.length === 0) return [];
  const newestFirst = window.newestFirst ? found : [...found].reverse();
  const [starts, ids, records] = await Promise.all([
    startPositions(whose, newestFirst),
    idsWithoutOrder(whose, found),
    gateway.store.exchange.ofOrders(
      venue.definition.slug,
      found.flatMap(({ by }) => (by?.isRelayed ? [by.id] : [])),
    ),
  ]);
  const config = venue.feed.config();
  const numbers = new Map(found.map(({ id, by }) => [id, by?.id ?? ids.get(id)]));
  const levels = await gateway.store.exchange.ofOids(
    venue.definition.slug,
    trader,
    [...numbers.values()].flatMap((number) => (number === undefined || records.has(number) ? [] : [number])),
  );
  return found.flatMap((fill) => {
    const asset = universe.assets[fill.executed.terms.pairIndex];
    const number = numbers.get(fill.id);
    if (!asset || number === undefined) return [];
    const record = records.get(number) ?? levels.get(number) ?? null;
    return [showFill({ config, asset, fill, oid: record?.oid ?? number, record, trader, start: starts.get(fill.id) ?? 0n })];
  });
}

const opens = ({ action }: Executed): boolean => action === 'open' || action === 'increase';
const isBuy = (executed: Executed): boolean => opens(executed) === executed.terms.long;

/** 1e18 base units, at the collateral's price of then. */
function baseOf(config: MarketConfig, { sizeToken, collateralPriceUsd, terms }: Executed): bigint {
  const priceUsd = collateralPriceUsd ?? collateralOf(config, terms.collateralIndex)?.priceUsd ?? E8;
  return toUnits(baseSize(sizeToken ?? 0n, priceUsd), BASE_SCALE, 'half-up');
}

/** The positions of now, taken back one fill after the other. */
async function startPositions({ gateway, venue, trader }: Whose, newestFirst: readonly SeenFill[]): Promise<Map<bigint, bigint>> {
  const { slug } = venue.definition;
  const config = venue.feed.config();
  const after = newestFirst[0]?.executed.place.at ?? 0;
  const [positions, moved] = await Promise.all([
    gateway.store.account.openPositions(slug, trader),
    gateway.store.facade.history.movedAfter(slug, trader, after),
  ]);
  const net = new Map([...moved].map(([pairIndex, base]) => [pairIndex, -base]));
  for (const { position } of positions) {
    const base = positionBase(config, position);
    net.set(position.pairIndex, (net.get(position.pairIndex) ?? 0n) + (position.long ? base : -base));
  }
  const starts = new Map<bigint, bigint>();
  for (const { id, executed } of newestFirst) {
    const base = baseOf(config, executed);
    const start = (net.get(executed.terms.pairIndex) ?? 0n) - (isBuy(executed) ? base : -base);
    net.set(executed.terms.pairIndex, start);
    starts.set(id, start);
  }
  return starts;
}

/** What the contract did by itself: the take-profit or stop-loss that was hit, otherwise the position's own number. */
async function idsWithoutOrder({ gateway, venue, trader }: Whose, fills: readonly SeenFill[]): Promise<Map<bigint, bigint>> {
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

interface Shown {
  readonly config: MarketConfig;
  readonly asset: Asset;
  readonly fill: SeenFill;
  readonly oid: bigint;
  /** The bot's own order, where it is one's. */
  readonly record: ExchangeRecord | null;
  readonly trader: string;
  readonly start: bigint;
}

/** A resting order of ours, or a limit order that rested as the take profit of what it closes. */
const hasRested = ({ orderKey }: Executed, record: ExchangeRecord | null): boolean =>
  orderKey?.startsWith('resting:') === true || (record?.manner === 'protection' && record.order.style.kind === 'limit');

function showFill({ config, asset, fill, oid, record, trader, start }: Shown) {
  const { executed } = fill;
  const { terms, place, action, collateralPriceUsd } = executed;
  const cloid = record?.cloid ?? null;
  const collateral = collateralOf(config, terms.collateralIndex);
  const usd = (units: bigint): string =>
    collateral ? formatUsd(collateralToUsd(units, { ...collateral, priceUsd: collateralPriceUsd ?? collateral.priceUsd })) : ZERO_TEXT;
  return {
    coin: asset.coin,
    px: formatExact(coinPrice(asset, executed.price)),
    sz: formatSize(coinSize(asset, baseOf(config, executed)), asset.szDecimals, 'half-up'),
    side: isBuy(executed) ? 'B' : 'A',
    time: place.at,
    startPosition: formatSize(coinSize(asset, start), asset.szDecimals, 'half-up'),
    dir: `${opens(executed) ? 'Open' : 'Close'} ${terms.long ? 'Long' : 'Short'}`,
    closedPnl: opens(executed) ? ZERO_TEXT : usd(executed.grossPnl),
    hash: place.txHash ?? NO_HASH,
    oid: Number(oid),
    crossed: !hasRested(executed, record),
    fee: usd(executed.fee),
    tid: Number(fill.id),
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
