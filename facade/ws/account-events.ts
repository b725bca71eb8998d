import type { Gateway, Venue } from '../../core/gateway.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import type { Address, Cancel } from '../../core/types.js';
import { followJournal, type JournalHub } from '../../core/stream/journal-stream.js';
import { createTopic } from '../../core/stream/bus.js';
import type { InfoContext } from '../info/info-type.js';
import { UNASKED_CANCELS, type AccountContext, type HlStatus, type OrderWithStatus } from '../info/order-shapes.js';
import { excessOrder } from '../info/order-fills.js';
import { createMovedStops, createOrderUpdates } from './order-updates.js';
import { collateralOf } from '../../core/account/describe-order.js';
import type { Executed } from '../../core/domain/chain-event.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import { formatUsd, ZERO_TEXT } from '../format.js';
import { readFills, type ShownFill } from '../info/fills.js';
import { fundingOf, type FundingPayment } from '../info/user-funding.js';

/** The updates that result from some journal entries of an account. Computed once for all connections; lists may be empty. */
export interface AccountUpdates extends FillUpdates {
  readonly orders: readonly OrderWithStatus[];
  readonly nonUserCancels: readonly NonUserCancel[];
  /** One sentence per stop loss that the contract moved: where to and why. */
  readonly moved: readonly string[];
}

export interface AccountListener {
  readonly onUpdates: (updates: AccountUpdates) => void;
  /** The account cannot be followed any more. */
  readonly onLost: () => void;
}

export interface AccountEvents {
  /** Once resolved, no update is missed. Rejects if the account cannot be read. */
  readonly ready: Promise<void>;
  listen(listener: AccountListener): Cancel;
  readonly stop: Cancel;
}

const LOOK_MS = 500;

export interface AccountEventsOptions {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly journal: JournalHub;
  readonly readContext: () => Promise<InfoContext>;
  readonly trader: Address;
}

/** Order and fill updates of an account in the facade's format, derived from its journal, whichever replica wrote it. */
export function createAccountEvents({ gateway, venue, journal, readContext, trader }: AccountEventsOptions): AccountEvents {
  const updates = createTopic<AccountUpdates>('facade account events', venue.log);
  const loss = createTopic<null>('facade account events', venue.log);
  let isStopped = false;
  let cancel: Cancel = () => undefined;
  const orderUpdates = createOrderUpdates();
  const movedStops = createMovedStops();
  // Markets are listed and delisted during its lifetime.
  const readContextNow = async (): Promise<AccountContext> => ({ gateway, venue, universe: (await readContext()).universe, trader });

  /** Updates are computed one after the other, because each is compared with the previous one. */
  let last: Promise<unknown> = Promise.resolve();
  let stopLooking: Cancel = () => undefined;

  const deliver = (entries: readonly JournalEntry[]): Promise<void> => {
    const own = entries.filter(({ fact }) => fact.kind !== 'agent');
    return own.length === 0 ? Promise.resolve() : inTurn(own);
  };

  const inTurn = (own: readonly JournalEntry[]): Promise<void> => {
    const sent = last.then(() => publish(own));
    last = sent.catch(() => undefined);
    return sent;
  };

  /** A level that was replaced in the same block, or never reaches the chain, ends without a journal entry. */
  const lookAgain = (): void => {
    stopLooking();
    if (isStopped || !orderUpdates.isWaiting()) return;
    stopLooking = venue.clock.after(LOOK_MS, () => {
      inTurn([]).catch((error: unknown) => {
        venue.log.warn('facade.levels-not-read', { error });
        lookAgain();
      });
    });
  };

  const publish = async (own: readonly JournalEntry[]): Promise<void> => {
    // Run in sequence: concurrent reads could see the same rows in different states.
    const account = await readContextNow();
    const changed = await orderUpdates.describe(account, own);
    const fills = await describeFills(account, own);
    const orders = [...changed, ...fills.fills.filter(({ part }) => part.isExcess).map(excessOrder)];
    const nonUserCancels = await describeCancels(account, orders);
    lookAgain();
    if (!isStopped && own.length + orders.length > 0) updates.publish({ orders, nonUserCancels, moved: movedStops(orders), ...fills });
  };

  const begin = async (): Promise<void> => {
    const after = await gateway.store.journal.last(venue.definition.slug, trader);
    await orderUpdates.begin(await readContextNow());
    if (isStopped) return;
    const onFault = (error: unknown): void => {
      venue.log.error('facade.account-events-lost', { error });
      loss.publish(null);
    };
    cancel = followJournal(gateway, venue, journal, { trader, after, deliver, whenWritable: () => Promise.resolve(), onFault });
  };

  const ready = begin();
  ready.catch(() => undefined);
  return {
    ready,
    listen({ onUpdates, onLost }) {
      const cancels = [updates.listen(onUpdates), loss.listen(onLost)];
      return () => cancels.forEach((end) => end());
    },
    stop() {
      isStopped = true;
      cancel();
      stopLooking();
    },
  };
}

interface Liquidation {
  readonly lid: number;
  readonly liquidator: string;
  readonly liquidated_user: string;
  readonly liquidated_ntl_pos: string;
  readonly liquidated_account_value: string;
}

interface FillUpdates {
  /** Oldest first, in the format of the info endpoint. */
  readonly fills: readonly ShownFill[];
  readonly payments: readonly FundingPayment[];
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

async function describeFills(account: AccountContext, entries: readonly JournalEntry[]): Promise<FillUpdates> {
  const happened = entries.flatMap(({ fact }): Happened[] => (fact.kind === 'fill' ? [fact] : []));
  const hasTakenBack = entries.some(({ fact }) => fact.kind === 'correction' && fact.of.kind === 'fill');
  const fills = await shownFills(account, happened);
  const payments = fundingOf(account.venue, fills);
  return { fills, payments, liquidations: liquidationsOf(account, happened), hasTakenBack };
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

/** An order that was canceled without a request of its owner. */
interface NonUserCancel {
  readonly coin: string;
  readonly oid: number;
}

const isUnasked = (status: HlStatus): boolean => UNASKED_CANCELS.some((word) => word === status);

/** Of the published updates: orders canceled by the contract, by a schedule, or by the relayer because the oracle did not answer. */
async function describeCancels({ gateway, venue }: AccountContext, published: readonly OrderWithStatus[]): Promise<NonUserCancel[]> {
  const canceled = published.flatMap(({ order, status }) => (status === 'canceled' ? [BigInt(order.oid)] : []));
  const taken = await gateway.store.facade.history.takenBack(venue.definition.slug, canceled);
  const isOurs = ({ order, status }: OrderWithStatus): boolean => status === 'canceled' && taken.has(BigInt(order.oid));
  return published.flatMap((each) => (isUnasked(each.status) || isOurs(each) ? [{ coin: each.order.coin, oid: each.order.oid }] : []));
}
