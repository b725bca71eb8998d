import { onVenue, type Gateway, type Venue } from '../gateway.js';
import type { Address, Cancel } from '../types.js';
import type { JournalHub } from './journal-stream.js';
import { createRefresh, type PollRing, type PollRingOptions } from './refresh.js';
import { createTopic } from './bus.js';
import { positionOf, readPositions, type PositionAtBlock, type Position } from '../account/list-positions.js';
import { getAccount, type Account } from '../account/get-account.js';

/** An account's state, and the journal cursor it includes. */
export interface PublishedState<State> {
  readonly cursor: bigint;
  readonly state: State;
}

export interface StateListener<State> {
  /** Called with the state as soon as it is known, then on every change. */
  readonly onState: (value: PublishedState<State>) => void;
  /** The first read failed; nothing more is sent. */
  readonly onFault: (error: unknown) => void;
}

export interface StateSource<State> {
  readonly follow: (listener: StateListener<State>) => Cancel;
  readonly stop: Cancel;
}

/** The account, and the sources of its changes. */
interface AccountWatch {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly journal: JournalHub;
  /** Decides when the account is read although no event arrived. */
  readonly polls: PollRing;
  readonly trader: Address;
}

export interface StateOptions<Read, State> extends AccountWatch {
  /** Reads from the chain or the store. */
  readonly read: () => Promise<Read>;
  /** Derives the published state from the last read. */
  readonly show: (read: Read) => State;
}

/** Changes within this time, such as those of one block, cause a single read. */
const GAP_MS = 100;
/** A node may still answer for the block before the journal entry, so the state is read again with this many new heads. */
const HEADS_AFTER = 2;

/** A state that is read again after every journal entry of the account, and published when it changed. */
function createStateSource<Read, State>(
  options: StateOptions<Read, State>,
): StateSource<State> & { /** Shows again what was read last. */ readonly reshow: () => void; readonly latest: () => Read | null } {
  const { gateway, venue, journal, trader } = options;
  const topic = createTopic<PublishedState<State>>('state', venue.log);
  const waitingForFirst = new Set<StateListener<State>['onFault']>();
  let known: { readonly cursor: bigint; readonly read: Read } | null = null;
  let published: { readonly text: string; readonly value: PublishedState<State> } | null = null;
  let headsLeft = 0;

  const reshow = (): void => {
    if (known === null) return;
    const value = { cursor: known.cursor, state: options.show(known.read) };
    const text = textOf(value.state);
    const isSame = published?.text === text && published.value.cursor === value.cursor;
    const isChanged = published?.text !== text;
    if (!isSame) published = { text, value };
    if (isChanged) topic.publish(value);
  };

  const read = async (): Promise<void> => {
    try {
      const cursor = await gateway.store.journal.last(venue.definition.slug, trader);
      known = { cursor, read: await options.read() };
      reshow();
    } catch (error) {
      if (published !== null) venue.log.warn('stream.state-not-read', { error });
      for (const onFault of [...waitingForFirst]) onFault(error);
    }
  };

  const refresh = createRefresh(venue.clock, GAP_MS, read);
  const cancels = [
    journal.listen(trader, () => {
      headsLeft = HEADS_AFTER;
      refresh.ask();
    }),
    onVenue(gateway, venue, 'head', () => {
      if (headsLeft === 0) return;
      headsLeft -= 1;
      refresh.ask();
    }),
    options.polls.add(() => refresh.ask()),
    refresh.stop,
  ];
  refresh.ask();

  return {
    reshow() {
      try {
        reshow();
      } catch (error) {
        venue.log.warn('stream.state-not-shown', { error });
      }
    },
    latest: () => known?.read ?? null,
    stop: () => cancels.forEach((cancel) => cancel()),
    follow({ onState, onFault }) {
      const deliver = (value: PublishedState<State>): void => {
        waitingForFirst.delete(onFault);
        onState(value);
      };
      const cancel = topic.listen(deliver);
      if (published !== null) deliver(published.value);
      else {
        waitingForFirst.add(onFault);
        refresh.ask();
      }
      return () => {
        waitingForFirst.delete(onFault);
        cancel();
      };
    },
  };
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));

/** Trades of others change a market's fees without an event for this account, so positions are polled too. */
export const POSITION_POLLS: PollRingOptions = { everyMs: 15_000, perSecond: 10 };
/** Profit changes with every price; it is published at most this often. */
const PRICED_EVERY_MS = 1_000;

/** Open positions of one account with current profit: read from the chain when something happened, repriced from the feed in between. */
export function createPositionSource({ gateway, venue, journal, polls, trader }: AccountWatch): StateSource<Position[]> {
  const { clock } = venue;
  const source = createStateSource<PositionAtBlock[], Position[]>({
    gateway,
    venue,
    journal,
    trader,
    read: () => readPositions(gateway, venue, trader),
    show: (held) => held.map((position) => price(venue, position)),
    polls,
  });
  let pricedAt = 0;
  let cancelPricing: Cancel | null = null;

  const priceSoon = (): void => {
    cancelPricing ??= clock.after(Math.max(0, pricedAt + PRICED_EVERY_MS - clock.now()), () => {
      cancelPricing = null;
      pricedAt = clock.now();
      source.reshow();
    });
  };

  const stopPrices = onVenue(gateway, venue, 'prices', ({ pairs }) => {
    if (source.latest()?.some(({ own }) => pairs.includes(own.trade.pairIndex))) priceSoon();
  });

  return {
    follow: source.follow,
    stop() {
      stopPrices();
      cancelPricing?.();
      source.stop();
    },
  };
}

/** Priced at the newest block, because fees accrue with block time. */
function price(venue: Venue, { own, place }: PositionAtBlock): Position {
  const head = venue.state.head?.block;
  return positionOf(venue, own, { ...place, block: head && head.number > place.block.number ? head : place.block });
}

/** Token transfers and delegate changes are not in the journal, so the account is polled too. */
export const WALLET_POLLS: PollRingOptions = { everyMs: 10_000, perSecond: 10 };

/** Balances, allowances and agents of one account. */
export const createAccountSource = ({ gateway, venue, journal, polls, trader }: AccountWatch): StateSource<Account> =>
  createStateSource({
    gateway,
    venue,
    journal,
    trader,
    read: () => getAccount(gateway, venue, trader),
    show: (account) => account,
    polls,
  });
