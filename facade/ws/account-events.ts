import type { Gateway, Venue } from '../../core/gateway.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import type { Address, Cancel } from '../../core/types.js';
import { followJournal, type JournalHub } from '../../core/stream/journal-stream.js';
import { createTopic } from '../../core/stream/bus.js';
import type { InfoContext } from '../info/info-type.js';
import type { OrderWithStatus, AccountContext } from '../info/order-shapes.js';
import { excessOrder } from '../info/order-fills.js';
import { describeCancels, type NonUserCancel } from './cancel-updates.js';
import { describeFills, type FillUpdates } from './fill-updates.js';
import { createOrderUpdates } from './order-updates.js';
import { createMovedStops } from './trigger-updates.js';

/** The updates that result from some journal entries of an account. Computed once for all connections; lists may be empty. */
export interface AccountUpdates extends FillUpdates {
  readonly orders: readonly OrderWithStatus[];
  readonly nonUserCancels: readonly NonUserCancel[];
  /** One sentence per stop loss that the contract moved: where to and why. */
  readonly moved: readonly string[];
}

export interface AccountListener {
  readonly onUpdates: (news: AccountUpdates) => void;
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
  const news = createTopic<AccountUpdates>('facade story', venue.log);
  const loss = createTopic<null>('facade story', venue.log);
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
    if (!isStopped && own.length + orders.length > 0) news.publish({ orders, nonUserCancels, moved: movedStops(orders), ...fills });
  };

  const begin = async (): Promise<void> => {
    const after = await gateway.store.journal.last(venue.definition.slug, trader);
    await orderUpdates.begin(await readContextNow());
    if (isStopped) return;
    const onFault = (error: unknown): void => {
      venue.log.error('facade.story-lost', { error });
      loss.publish(null);
    };
    cancel = followJournal(gateway, venue, journal, { trader, after, deliver, whenWritable: () => Promise.resolve(), onFault });
  };

  const ready = begin();
  ready.catch(() => undefined);
  return {
    ready,
    listen({ onUpdates, onLost }) {
      const cancels = [news.listen(onUpdates), loss.listen(onLost)];
      return () => cancels.forEach((end) => end());
    },
    stop() {
      isStopped = true;
      cancel();
      stopLooking();
    },
  };
}
