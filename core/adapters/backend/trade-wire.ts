import type { MarketTrade, TradeAction } from '../../domain/market-trade.js';
import { readPrice } from './price-frame.js';
import { epochMs, field, integer } from './wire.js';
import { wireUnits } from './wire-number.js';

/** A row of the public history, before its pair is resolved. */
export interface TradeRow extends Omit<MarketTrade, 'pairIndex'> {
  /** `BASE/QUOTE`, as the protocol lists the pair. */
  readonly pair: string;
  /** Equal for the same execution, from any source. */
  readonly key: string;
  /** Orders executions of the same time. */
  readonly id: bigint;
}

const ACTIONS: Readonly<Record<string, TradeAction>> = {
  TradeOpenedMarket: 'open',
  TradeOpenedLimit: 'open',
  TradeClosedMarket: 'close',
  TradeClosedTP: 'tp',
  TradeClosedSL: 'sl',
  TradeClosedLIQ: 'liquidation',
  TradeLeverageUpdate: 'leverage',
  TradePosSizeIncrease: 'increase',
  TradePosSizeDecrease: 'decrease',
};

const PAIR = /^[A-Za-z0-9._&-]{1,32}\/[A-Za-z0-9._&-]{1,32}$/;
const HASH = /^0x[0-9a-fA-F]{64}$/;
const SCALE = 18;
const UNIT = 10n ** 18n;

/** Null for a malformed row, or one that is no execution. */
export function readTradeRow(row: unknown): TradeRow | null {
  const [name, pair, txHash] = [field(row, 'action'), field(row, 'pair'), field(row, 'tx')];
  const action = typeof name === 'string' && Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  const [at, price, isLong] = [epochMs(field(row, 'date')), readPrice(field(row, 'price')), truth(field(row, 'long'))];
  if (action === undefined || typeof pair !== 'string' || !PAIR.test(pair)) return null;
  if (typeof txHash !== 'string' || !HASH.test(txHash)) return null;
  const sizeUsd = tradedUsd(row, action);
  if (at === null || price === null || isLong === null || sizeUsd === null) return null;
  const key = [txHash, action, price, ...IDENTITY.map((part) => textOf(field(row, part)))].join(' ');
  const named = { pair, key, id: integer(field(row, 'id')) ?? 0n };
  return { ...named, price, sizeUsd, side: isLong ? 'long' : 'short', action, at, txHash, ...profitOf(row), ...traderOf(row) };
}

const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 64) : '');

const IDENTITY = ['address', 'tradeIndex', 'size', 'leverage'] as const;

/** Upstream sends booleans in several forms. */
function truth(value: unknown): boolean | null {
  if (value === true || value === 1 || value === '1' || value === 'true') return true;
  return value === false || value === 0 || value === '0' || value === 'false' ? false : null;
}

const amount = (row: unknown, key: string): bigint | null => {
  const units = wireUnits(field(row, key), SCALE);
  return units !== null && units >= 0n ? units : null;
};

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

function traderOf(row: unknown): Pick<MarketTrade, 'trader'> {
  const trader = field(row, 'address');
  return typeof trader === 'string' && ADDRESS.test(trader) ? { trader } : {};
}

/** 1e18 USD. */
function profitOf(row: unknown): Pick<MarketTrade, 'pnlUsd'> {
  const [pnl, price] = [wireUnits(field(row, 'pnl'), SCALE), amount(row, 'collateralPriceUsd')];
  return pnl === null || price === null ? {} : { pnlUsd: (pnl * price) / UNIT };
}

/** 1e18 USD. An increase or a decrease trades its deltas, anything else the whole position. */
function tradedUsd(row: unknown, action: TradeAction): bigint | null {
  const [collateral, leverage, price] = [amount(row, 'size'), amount(row, 'leverage'), amount(row, 'collateralPriceUsd')];
  if (collateral === null || leverage === null || price === null) return null;
  const deltas = { collateral: amount(row, 'collateralDelta') ?? 0n, leverage: amount(row, 'leverageDelta') ?? 0n };
  const isPart = (action === 'increase' || action === 'decrease') && deltas.collateral + deltas.leverage > 0n;
  const traded = isPart
    ? (deltas.collateral || collateral) * (action === 'decrease' && deltas.collateral > 0n ? leverage : deltas.leverage || leverage)
    : collateral * leverage;
  return (traded * price) / UNIT / UNIT;
}
