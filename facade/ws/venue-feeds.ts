import { onVenue, type Gateway, type Venue } from '../../core/gateway.js';
import type { Address, Cancel } from '../../core/types.js';
import { createJournalHub, type JournalHub } from '../../core/stream/journal-stream.js';
import { createShared, type Held } from '../../core/stream/shared.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import { assetContexts, type AssetContext } from '../info/asset-contexts.js';
import type { InfoContext } from '../info/info-type.js';
import { createPollRing, createRefresh, type PollRing, type PollRingOptions } from '../../core/stream/refresh.js';
import { createAccountEvents, type AccountEvents } from './account-events.js';
import { createCandleFeed, type CandleFeed, type ChartKey } from './candle-feed.js';
import { createTradeFeed, type TradeFeed } from './trade-feed.js';
import type { Asset } from '../universe.js';
import { createTopic } from '../../core/stream/bus.js';
import { readAccount, type AccountFacts } from '../info/account-state.js';
import { GatewayError } from '../../core/errors.js';

/** A feed and the id under which all connections share it. */
export interface FeedRequest extends SharedFeedOptions {
  readonly id: string;
}

/** The sources of a venue's facade connections, each opened once however many clients watch it. */
export interface VenueFeeds {
  readonly gateway: Gateway;
  readonly venue: Venue;
  shared(request: FeedRequest): Held<SharedFeed>;
  trades(asset: Asset): Held<TradeFeed>;
  candles(key: ChartKey): Held<CandleFeed>;
  account(trader: Address): Held<AccountCache>;
  accountEvents(trader: Address): Held<AccountEvents>;
  /** With the current markets. */
  readonly readContext: () => Promise<InfoContext>;
  /** For all markets, computed once per price change. */
  contexts(context: InfoContext): readonly AssetContext[];
  readonly journal: JournalHub;
  /** Calls when prices of the venue change; of one market only if it is given. */
  onPrices(ask: () => void, pairIndex?: number): Cancel;
  /** The number of open sources. */
  size(): number;
}

export function createVenueFeeds(gateway: Gateway, stream: VenueStream, contextOf: (venue: Venue) => Promise<InfoContext>): VenueFeeds {
  const { venue } = stream;
  const journal = createJournalHub(gateway, venue);
  const polls = createPollRing(venue.clock, ACCOUNT_POLLS);
  const readContext = (): Promise<InfoContext> => contextOf(venue);
  const shared = createShared(
    ({ id }: FeedRequest) => id,
    (request) => createSharedFeed(venue, request),
  );
  const trades = createShared(
    ({ id, symbol }: Asset) => `${id} ${symbol}`,
    (asset) => createTradeFeed(gateway, venue, asset),
  );
  const candles = createShared(
    ({ asset, interval }: ChartKey) => `${asset.id} ${asset.symbol} ${interval}`,
    (key) => createCandleFeed(gateway, stream, key),
  );
  const accounts = createShared(
    (trader: Address) => trader,
    (trader) => createAccountCache({ gateway, venue, journal, polls, trader }),
  );
  const accountEvents = createShared(
    (trader: Address) => trader,
    (trader) => createAccountEvents({ gateway, venue, journal, readContext, trader }),
  );
  const counted = [shared, trades, candles, accounts, accountEvents, journal];
  return {
    gateway,
    venue,
    journal,
    shared: (request) => shared.hold(request),
    trades: (asset) => trades.hold(asset),
    candles: (key) => candles.hold(key),
    account: (trader) => accounts.hold(trader),
    accountEvents: (trader) => accountEvents.hold(trader),
    readContext,
    contexts: contextsOnce(gateway, venue),
    onPrices: (ask, pairIndex) =>
      onVenue(gateway, venue, 'prices', ({ pairs }) => {
        if (pairIndex === undefined || pairs.includes(pairIndex)) ask();
      }),
    size: () => counted.reduce((sum, { size }) => sum + size(), 0),
  };
}

/** Rates change with time alone, so nothing is cached for longer. */
const OLDEST_MS = 1_000;

function contextsOnce(gateway: Gateway, venue: Venue): VenueFeeds['contexts'] {
  let known: { readonly contexts: readonly AssetContext[]; readonly at: number } | null = null;
  const forget = (): void => {
    known = null;
  };
  onVenue(gateway, venue, 'prices', forget);
  onVenue(gateway, venue, 'config', forget);
  return ({ universe, day }) => {
    const at = venue.clock.now();
    if (known === null || at - known.at > OLDEST_MS) known = { contexts: assetContexts(venue, universe, day), at };
    return known.contexts;
  };
}

/**
 * Transfers between wallets, changes of leverage and market-wide fee changes leave no trace in the journal. Any client may watch any
 * address, so all accounts of a venue share one rate: up to 20 are read every five seconds, with more of them less often.
 */
export const ACCOUNT_POLLS: PollRingOptions = { everyMs: 5_000, perSecond: 4 };
/** A node may lag one block behind the journal; after this many new blocks it does not any more. */
const HEADS_AFTER = 2;

/** The chain's facts of one account: read when something happened, and shared by all feeds that value it. */
interface AccountCache {
  facts(): Promise<AccountFacts>;
  /** Called when the facts may have changed. */
  listen(listener: () => void): Cancel;
  readonly stop: Cancel;
}

interface AccountCacheOptions {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly journal: JournalHub;
  readonly polls: PollRing;
  readonly trader: Address;
}

export function createAccountCache({ gateway, venue, journal, polls, trader }: AccountCacheOptions): AccountCache {
  const topic = createTopic<null>('account', venue.log);
  let known: Promise<AccountFacts> | null = null;
  let headsLeft = 0;

  const forget = (): void => {
    known = null;
    topic.publish(null);
  };
  const cancels = [
    journal.listen(trader, () => {
      headsLeft = HEADS_AFTER;
      forget();
    }),
    onVenue(gateway, venue, 'head', () => {
      if (headsLeft === 0) return;
      headsLeft -= 1;
      forget();
    }),
    polls.add(forget),
  ];

  const read = (): Promise<AccountFacts> => {
    const reading = readAccount(gateway, venue, trader);
    known = reading;
    // A failed read is kept until the next poll or event: otherwise every price change would repeat it.
    reading.catch(() => undefined);
    return reading;
  };
  return {
    facts: () => known ?? read(),
    listen: (listener) => topic.listen(listener),
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}

/** A frame, and the part of it that counts as a change: the timestamp alone does not. */
export interface Made {
  readonly text: string;
  readonly sameAs: string;
}

interface SharedFeedOptions {
  /** Changes that come faster are merged. */
  readonly gapMs: number;
  /** null while there is nothing to publish. */
  readonly make: () => Promise<Made | null>;
  /** Calls `ask` whenever the frame may have changed. */
  readonly watch: (ask: () => void) => readonly Cancel[];
}

interface SharedFeed {
  /** Sends the newest frame as soon as there is one, then each changed one. */
  follow(listener: (text: string) => void): Cancel;
  readonly stop: Cancel;
}

/** A frame that is built once per change, however many connections receive it. */
function createSharedFeed({ clock, log }: Venue, { gapMs, make, watch }: SharedFeedOptions): SharedFeed {
  const topic = createTopic<string>('facade', log);
  let latest: Made | null = null;

  const remake = async (): Promise<void> => {
    try {
      const made = await make();
      const isChanged = made !== null && made.sameAs !== latest?.sameAs;
      latest = isChanged || made === null ? made : latest;
      if (isChanged) topic.publish(made.text);
    } catch (error) {
      // Built again when it can be; new subscribers must not get a stale frame.
      latest = null;
      if (!(error instanceof GatewayError)) log.warn('facade.feed-not-made', { error });
    }
  };

  const refresh = createRefresh(clock, gapMs, remake);
  const cancels = [...watch(() => refresh.ask()), refresh.stop];
  refresh.ask();
  return {
    follow(listener) {
      if (latest !== null) listener(latest.text);
      return topic.listen(listener);
    },
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}
