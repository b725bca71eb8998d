import { collateralOf } from '../../core/account/describe-order.js';
import type { Executed } from '../../core/domain/chain-event.js';
import { divideInteger } from '../../core/domain/decimal.js';
import type { MarketConfig } from '../../core/domain/market.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import type { TradeResult } from '../../core/domain/trade-results.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import type { SeenFill } from '../../core/ports/stores/history.js';
import { ZERO_TEXT, formatSize, formatTick, formatUsd } from '../format.js';
import { coinPrice, coinSize, type Asset } from '../universe.js';
import { excessId, type ShownPart } from './shown-fills.js';

const NO_HASH = `0x${'0'.repeat(64)}`;

export const opens = ({ action }: Executed): boolean => action === 'open' || action === 'increase';
const isBuy = (executed: Executed): boolean => opens(executed) === executed.terms.long;

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
  readonly result: TradeResult | null;
  readonly isMaker: boolean;
}

/**
 * Whether the execution is that of a limit order that rested, on the book or as the take profit of the position it closes. An order with a
 * trigger takes liquidity on Hyperliquid, also where the contract keeps it as a limit.
 */
export function hasRested({ executed: { orderKey }, by }: SeenFill, record: ExchangeRecord | null): boolean {
  const isResting = orderKey?.startsWith('resting:') === true;
  if (record === null) return isResting && by?.type !== 'stop';
  return record.order.style.kind === 'limit' && (isResting || record.manner === 'protection');
}

export type WireFill = ReturnType<typeof wireFill>;

export function wireFill({ config, asset, fill, oid, record, trader, part, share, result, isMaker }: Shown) {
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
    closedPnl: opens(executed) ? ZERO_TEXT : usd(result?.closedPnl ?? executed.grossPnl),
    hash: place.txHash ?? NO_HASH,
    oid: Number(oid),
    crossed: !isMaker,
    fee: usd(result?.fee ?? executed.fee),
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
