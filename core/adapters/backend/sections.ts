import {
  TRADING_STATES,
  type BandOffsets,
  type DepthBands,
  type FeeGroup,
  type Group,
  type LiquidationParams,
  type MarketGroup,
  type OiWindowsSettings,
  type PairFactors,
  type TradingState,
  type VolumeWindow,
} from '../../domain/market.js';
import { readCollaterals, readFees, readGroups, type MutableCollateral } from './collateral-wire.js';
import * as pairs from './pair-wire.js';
import { bandOffsets } from './pair-wire.js';
import { epochMs, field, isObject, natural, naturals, ShapeError, type Problems } from './wire.js';

export type HoursClass = Exclude<MarketGroup, 'crypto'>;

/** The parsed snapshot, one property per wire key, so that a partial frame replaces exactly its keys. */
export interface Sections {
  lastRefreshed: number;
  tradingState: TradingState;
  marketOrdersTimeoutBlocks: number;
  pairs: readonly (pairs.PairRow | null)[];
  groups: readonly (Group | null)[];
  fees: readonly (FeeGroup | null)[];
  collaterals: readonly MutableCollateral[];
  oiWindowsSettings: OiWindowsSettings;
  maxLeverages: readonly pairs.Cell<bigint>[];
  depths: readonly pairs.Cell<DepthBands>[];
  factors: readonly pairs.Cell<PairFactors>[];
  liquidation: readonly pairs.Cell<LiquidationParams>[];
  counterTrades: readonly pairs.Cell<pairs.CounterTrade>[];
  windows: pairs.Cell<readonly VolumeWindow[]>[];
  bandOffsets: BandOffsets;
  negPnlCumulVolMultiplier: bigint;
  isForexOpen: boolean;
  isStocksOpen: boolean;
  isIndicesOpen: boolean;
  isCommoditiesOpen: boolean;
}

type WireReader = (value: unknown, problems: Problems) => Partial<Sections>;

const windowsSettings = naturals('startTs', 'windowsDuration', 'windowsCount');

const must = <Value>(value: Value | null | undefined, key: string): Value => {
  if (value === null || value === undefined) throw new ShapeError(`${key} cannot be read`);
  return value;
};

const openFlag =
  (key: 'isForexOpen' | 'isStocksOpen' | 'isIndicesOpen' | 'isCommoditiesOpen'): WireReader =>
  (value) => ({ [key]: must(typeof value === 'boolean' ? value : null, key) });

/** The requested keys with their parsers. A parser throws when the key as a whole is malformed. */
const READERS: Readonly<Record<string, WireReader>> = {
  lastRefreshed: (value) => ({ lastRefreshed: must(epochMs(value), 'lastRefreshed') }),
  tradingState: (value) => ({ tradingState: must(TRADING_STATES[Number(natural(value) ?? -1)], 'tradingState') }),
  marketOrdersTimeoutBlocks: (value) => ({ marketOrdersTimeoutBlocks: blocks(value) }),
  pairs: (value, problems) => ({ pairs: pairs.readPairs(value, problems) }),
  groups: (value, problems) => ({ groups: readGroups(value, problems) }),
  fees: (value, problems) => ({ fees: readFees(value, problems) }),
  pairInfos: (value, problems) => pairInfos(value, problems),
  depthBandsMapping: (value) => ({ bandOffsets: must(bandOffsets(value), 'depthBandsMapping') }),
  liquidationParams: (value, problems) => {
    const perPair = field(value, 'pairs');
    return perPair === undefined ? {} : { liquidation: pairs.readLiquidation(perPair, problems) };
  },
  counterTradeSettings: (value, problems) => ({ counterTrades: pairs.readCounterTrades(value, problems) }),
  oiWindowsSettings: (value) => ({ oiWindowsSettings: settings(value) }),
  oiWindows: (value, problems) => ({ windows: pairs.readWindows(value, problems) }),
  negPnlCumulVolMultiplier: (value) => ({ negPnlCumulVolMultiplier: must(natural(value), 'negPnlCumulVolMultiplier') }),
  collaterals: (value, problems) => ({ collaterals: readCollaterals(value, problems) }),
  isForexOpen: openFlag('isForexOpen'),
  isStocksOpen: openFlag('isStocksOpen'),
  isIndicesOpen: openFlag('isIndicesOpen'),
  isCommoditiesOpen: openFlag('isCommoditiesOpen'),
};

export const WIRE_KEYS: readonly string[] = Object.keys(READERS);

function blocks(value: unknown): number {
  const read = must(natural(value), 'marketOrdersTimeoutBlocks');
  if (read === 0n || read > 1_000_000n) throw new ShapeError('marketOrdersTimeoutBlocks is out of range');
  return Number(read);
}

function settings(value: unknown): OiWindowsSettings {
  const read = must(isObject(value) ? windowsSettings(value) : null, 'oiWindowsSettings');
  if (read.windowsDuration === 0n || read.windowsCount > BigInt(pairs.MAX_WINDOWS))
    throw new ShapeError('oiWindowsSettings is out of range');
  return read;
}

/** The object may contain only some of its columns; the others keep their values. */
function pairInfos(value: unknown, problems: Problems): Partial<Sections> {
  if (!isObject(value)) throw new ShapeError('pairInfos is not an object');
  const { maxLeverages, pairDepthBands, pairFactors } = value;
  return {
    ...(maxLeverages !== undefined && { maxLeverages: pairs.readMaxLeverages(maxLeverages, problems) }),
    ...(pairDepthBands !== undefined && { depths: pairs.readDepths(pairDepthBands, problems) }),
    ...(pairFactors !== undefined && { factors: pairs.readFactors(pairFactors, problems) }),
  };
}

/** Parses all known keys of the object; one malformed key rejects the frame. */
export function readSections(value: unknown, problems: Problems): Partial<Sections> {
  if (!isObject(value)) throw new ShapeError('not an object');
  const read: Partial<Sections> = {};
  for (const [key, reader] of Object.entries(READERS)) {
    const given = field(value, key);
    if (given !== undefined && given !== null) Object.assign(read, reader(given, problems));
  }
  return read;
}
