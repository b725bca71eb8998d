import type { Account as CoreAccount } from '../../core/account/get-account.js';
import { listFills, listOpenOrders, type FillHistoryEntry as CoreFill } from '../../core/account/list-orders.js';
import type { Position as CorePosition } from '../../core/account/list-positions.js';
import type { Order as CoreOrder } from '../../core/account/describe-order.js';
import { GatewayError } from '../../core/errors.js';
import { describeEntries, requireKnown, type JournalEvent } from '../../core/account/list-events.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import type { Address, Cancel } from '../../core/types.js';
import { createConflated } from '../../core/stream/outbox.js';
import { createOnce } from '../../core/caching/shared-reads.js';
import type { Held } from '../../core/stream/shared.js';
import { readAtCursor, type AtCursor } from '../../core/stream/journal-stream.js';
import type { PublishedState, StateSource } from '../../core/stream/state-source.js';
import { Account, FillHistoryEntry, Order, Position } from '../wire/account.js';
import { textOf } from '../wire/codec.js';
import type { ChannelContext, OpenChannel } from './channel.js';
import type { Frame } from './messages.js';

const RECENT_FILLS = 50;

const orderText = createOnce<CoreOrder, string>(textOf(Order));
const fillText = createOnce<CoreFill, string>(textOf(FillHistoryEntry));
const positionsText = createOnce<CorePosition[], string>(textOf(Position.array()));
const accountText = createOnce<CoreAccount, string>(textOf(Account));
const listText = <Item>(items: readonly Item[], textOf: (item: Item) => string): string => `[${items.map(textOf).join(',')}]`;

function ownerOf({ trader }: ChannelContext): Address {
  if (trader === null) throw new GatewayError('UNAUTHENTICATED', {});
  return trader;
}

interface Beginning {
  readonly text: string;
  /** Ids of entries that must be sent only once. */
  readonly ids: ReadonlySet<bigint>;
}

/** One channel of the journal: its snapshot, and the entries it sends. */
interface JournalChannel {
  readonly kind: 'order' | 'fill';
  readonly begin: (context: ChannelContext, trader: Address) => Promise<AtCursor<Beginning>>;
  readonly textOf: (event: JournalEvent) => string | null;
}

const orders: JournalChannel = {
  kind: 'order',
  begin: ({ gateway, stream: { venue } }, trader) =>
    readAtCursor(gateway, venue, trader, async () => ({
      text: listText(await listOpenOrders(gateway, venue, trader), orderText),
      ids: new Set(),
    })),
  textOf: (event) => (event.kind === 'order' ? orderText(event.data) : correctedText(event)),
};

const fills: JournalChannel = {
  kind: 'fill',
  begin: ({ gateway, stream: { venue } }, trader) =>
    readAtCursor(gateway, venue, trader, async () => {
      const { data } = await listFills(gateway, venue, trader, { limit: RECENT_FILLS });
      return { text: listText(data, fillText), ids: new Set(data.map(({ id }) => BigInt(id))) };
    }),
  textOf: (event) => (event.kind === 'fill' ? fillText(event.data) : correctedText(event)),
};

const correctedText = (event: JournalEvent): string | null => {
  if (event.kind !== 'correction' || event.data.of === 'position' || event.data.of === 'withdrawal') return null;
  return event.data.now === null ? 'null' : orderText(event.data.now);
};

const belongs = ({ kind }: JournalChannel, { fact }: JournalEntry): boolean =>
  fact.kind === kind || (fact.kind === 'correction' && fact.of.kind === kind);

/** A snapshot, or the past from a cursor on; then one message per entry, none lost and none twice. */
const openJournalChannel =
  (channel: JournalChannel): OpenChannel =>
  (context) => {
    const { gateway, stream, outbox, after, frame, fail, ordersPace } = context;
    const { venue } = stream;
    const trader = ownerOf(context);
    const isOrders = channel.kind === 'order';
    let cancel: Cancel = () => undefined;
    let isStopped = false;
    /** Whether the snapshot, read while the account changed, already contained the entry. */
    let isInSnapshot: (entry: JournalEntry) => boolean = () => false;

    const deliver = async (entries: readonly JournalEntry[]): Promise<void> => {
      const own = entries.filter((entry) => belongs(channel, entry) && !isInSnapshot(entry));
      const events = await describeEntries(gateway, venue, trader, own);
      const last = entries.at(-1)?.cursor ?? 0n;
      if (!isOrders && events.length > 0) await ordersPace.reached(trader, last);
      if (isStopped) return;
      for (const event of events) {
        const data = channel.textOf(event);
        if (data !== null) outbox.push(frame({ snapshot: false, cursor: BigInt(event.cursor), data, ...correctionOf(event) }));
      }
      if (isOrders) ordersPace.reach(last);
    };

    const follow = (from: bigint): void => {
      if (isOrders) ordersPace.reach(from);
      cancel = stream.journal({ trader, after: from, deliver, whenWritable: () => outbox.whenEmpty(), onFault: fail });
    };

    const resume = async (from: bigint): Promise<void> => {
      await requireKnown(gateway, venue, trader, Number(from));
      if (!isStopped) follow(from);
    };

    const start = async (): Promise<void> => {
      const { cursor, until, state } = await channel.begin(context, trader);
      if (isStopped) return;
      outbox.push(frame({ snapshot: true, cursor, data: state.text }));
      isInSnapshot = ({ cursor: at, fact }) => at <= until && fact.kind === 'fill' && state.ids.has(fact.id);
      follow(cursor);
    };

    return {
      begin() {
        if (isOrders) ordersPace.begin(trader);
        void (after === null ? start() : resume(after)).catch(fail);
      },
      stop() {
        isStopped = true;
        cancel();
        if (isOrders) ordersPace.end();
      },
    };
  };

const correctionOf = (event: JournalEvent): Pick<Frame, 'correctionOf'> =>
  event.kind === 'correction' ? { correctionOf: event.data.id } : {};

/** A state that is sent in full each time: a client that was away only needs the newest. */
const openState =
  <State extends object>(hold: (context: ChannelContext) => Held<StateSource<State>>, textOf: (state: State) => string): OpenChannel =>
  (context) => {
    const { outbox, frame, fail } = context;
    const { part, release } = hold(context);
    let isFirst = true;
    let cancel: Cancel = () => undefined;
    const changes = createConflated<PublishedState<State>>(
      outbox,
      (_waiting, next) => next,
      ({ cursor, state }) => {
        const snapshot = isFirst;
        isFirst = false;
        return frame({ snapshot, cursor, data: textOf(state) });
      },
    );
    return {
      begin: () => void (cancel = part.follow({ onState: changes.publish, onFault: fail })),
      stop: () => [cancel, changes.stop, release].forEach((end) => end()),
    };
  };

export const privateChannels = {
  orders: openJournalChannel(orders),
  fills: openJournalChannel(fills),
  positions: openState((context) => context.stream.positions(ownerOf(context)), positionsText),
  account: openState((context) => context.stream.account(ownerOf(context)), accountText),
} as const;
