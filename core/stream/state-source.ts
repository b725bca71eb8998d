import type { Gateway, Venue } from '../gateway.js';
import type { Address, Cancel } from '../types.js';
import type { JournalHub } from './journal-hub.js';
import type { PollRing } from './poll-ring.js';
import { createRefresh } from './refresh.js';
import { createTopic } from './topic.js';

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
export interface AccountWatch {
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
export function createStateSource<Read, State>(
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
    gateway.bus.on('head', (event) => {
      if (event.venue !== venue || headsLeft === 0) return;
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
