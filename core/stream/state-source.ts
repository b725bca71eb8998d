import type { Gateway, Venue } from '../gateway.js';
import type { Address, Cancel } from '../types.js';
import type { JournalHub } from './journal-hub.js';
import type { PollRing } from './poll-ring.js';
import { createRefresh } from './refresh.js';
import { createTopic } from './topic.js';

/** What an account has, and up to where its journal is in it. */
export interface ToldState<State> {
  readonly cursor: bigint;
  readonly state: State;
}

export interface StateListener<State> {
  /** The state as soon as it is known, then every other one. */
  readonly onState: (told: ToldState<State>) => void;
  /** It could not be read even once; nothing more is told. */
  readonly onFault: (error: unknown) => void;
}

export interface StateSource<State> {
  readonly follow: (listener: StateListener<State>) => Cancel;
  readonly stop: Cancel;
}

/** Whose account it is, and where its changes come from. */
export interface AccountWatch {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly journal: JournalHub;
  /** Decides when the account is read although no event arrived. */
  readonly polls: PollRing;
  readonly trader: Address;
}

export interface StateOptions<Read, State> extends AccountWatch {
  /** What has to be asked for. */
  readonly read: () => Promise<Read>;
  /** What is shown of it at this moment. */
  readonly show: (read: Read) => State;
}

/** Changes that come in a burst, as those of one block do, are read together. */
const GAP_MS = 100;
/** A node may answer for the block before the one that the journal speaks of; so many new blocks later it does no more. */
const HEADS_AFTER = 2;

/** A state that is read again when the account's journal says so, and told when it became another one. */
export function createStateSource<Read, State>(
  options: StateOptions<Read, State>,
): StateSource<State> & { /** Shows again what was read last. */ readonly reshow: () => void; readonly latest: () => Read | null } {
  const { gateway, venue, journal, trader } = options;
  const topic = createTopic<ToldState<State>>('state', venue.log);
  const hopeful = new Set<StateListener<State>['onFault']>();
  let known: { readonly cursor: bigint; readonly read: Read } | null = null;
  let told: { readonly text: string; readonly value: ToldState<State> } | null = null;
  let headsLeft = 0;

  const reshow = (): void => {
    if (known === null) return;
    const value = { cursor: known.cursor, state: options.show(known.read) };
    const text = textOf(value.state);
    const isSame = told?.text === text && told.value.cursor === value.cursor;
    const isNews = told?.text !== text;
    if (!isSame) told = { text, value };
    if (isNews) topic.tell(value);
  };

  const read = async (): Promise<void> => {
    try {
      const cursor = await gateway.store.journal.last(venue.definition.slug, trader);
      known = { cursor, read: await options.read() };
      reshow();
    } catch (error) {
      if (told !== null) venue.log.warn('stream.state-not-read', { error });
      for (const onFault of [...hopeful]) onFault(error);
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
      const hear = (value: ToldState<State>): void => {
        hopeful.delete(onFault);
        onState(value);
      };
      const cancel = topic.listen(hear);
      if (told !== null) hear(told.value);
      else {
        hopeful.add(onFault);
        refresh.ask();
      }
      return () => {
        hopeful.delete(onFault);
        cancel();
      };
    },
  };
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
