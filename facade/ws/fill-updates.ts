import { collateralOf } from '../../core/account/describe-order.js';
import type { Executed } from '../../core/domain/chain-event.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import { ZERO_TEXT, formatUsd } from '../format.js';
import { readFills, type ShownFill } from '../info/fills.js';
import type { AccountContext } from '../info/order-shapes.js';

export interface Liquidation {
  readonly lid: number;
  readonly liquidator: string;
  readonly liquidated_user: string;
  readonly liquidated_ntl_pos: string;
  readonly liquidated_account_value: string;
}

export interface FillUpdates {
  /** Oldest first, in the format of the info endpoint. */
  readonly fills: readonly ShownFill[];
  readonly liquidations: readonly Liquidation[];
  /** A reorganisation removed fills that were published before. */
  readonly hasTakenBack: boolean;
}

const MOST = 2_000;
/** Fills of one second differ by milliseconds. */
const LAST_OF_SECOND = 999;

interface Happened {
  readonly id: bigint;
  readonly executed: Executed;
}

export async function describeFills(account: AccountContext, entries: readonly JournalEntry[]): Promise<FillUpdates> {
  const happened = entries.flatMap(({ fact }): Happened[] => (fact.kind === 'fill' ? [fact] : []));
  const hasTakenBack = entries.some(({ fact }) => fact.kind === 'correction' && fact.of.kind === 'fill');
  return { fills: await shownFills(account, happened), liquidations: liquidationsOf(account, happened), hasTakenBack };
}

/** Read as a time range, so that they equal those of every other reply. */
async function shownFills(account: AccountContext, happened: readonly Happened[]): Promise<ShownFill[]> {
  if (happened.length === 0) return [];
  const times = happened.map(({ executed }) => executed.place.at);
  const ids = new Set(happened.map(({ id }) => id));
  const window = { from: Math.min(...times), to: Math.max(...times) + LAST_OF_SECOND, limit: MOST, newestFirst: false };
  return (await readFills(account, window)).filter(({ fill }) => ids.has(fill.id));
}

/** The contract liquidates one trade at a time. */
function liquidationsOf({ venue, trader }: AccountContext, happened: readonly Happened[]): Liquidation[] {
  const config = venue.feed.config();
  return happened.flatMap(({ id, executed }) => {
    if (executed.action !== 'liquidation') return [];
    const collateral = collateralOf(config, executed.terms.collateralIndex);
    const priceUsd = executed.collateralPriceUsd ?? collateral?.priceUsd ?? 0n;
    const usd = (units: bigint): string => (collateral ? formatUsd(collateralToUsd(units, { ...collateral, priceUsd })) : ZERO_TEXT);
    return [
      {
        lid: Number(id),
        liquidator: venue.definition.diamond.toLowerCase(),
        liquidated_user: trader,
        liquidated_ntl_pos: usd(executed.sizeCollateral),
        liquidated_account_value: usd(executed.collateral),
      },
    ];
  });
}
