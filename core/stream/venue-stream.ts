import type { CandleInterval } from '../domain/candle.js';
import type { Account } from '../account/get-account.js';
import type { Position } from '../account/list-positions.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Cancel } from '../types.js';
import { createAccountSource, createPositionSource, POSITION_POLLS, WALLET_POLLS, type StateSource } from './state-source.js';
import {
  createBookSource,
  createPriceSource,
  createTradeSource,
  type BookSource,
  type PriceSource,
  type TradeSource,
} from './market-sources.js';
import { createCandleSource, type CandleSource } from './candle-source.js';
import { createJournalHub, followJournal, type FollowOptions } from './journal-stream.js';
import { createPollRing } from './refresh.js';
import { createShared, type Held } from './shared.js';
import { watchCredential, type Credential, type CredentialWatch } from './watch-credential.js';

/** The sources of a venue's sockets; subscribers share one instance of each. Markets are named by symbol, `BTC/USD`. */
export interface VenueStream {
  readonly venue: Venue;
  prices(): Held<PriceSource>;
  book(symbol: string): Held<BookSource>;
  trades(symbol: string): Held<TradeSource>;
  candles(symbol: string, interval: CandleInterval): Held<CandleSource>;
  positions(trader: Address): Held<StateSource<Position[]>>;
  account(trader: Address): Held<StateSource<Account>>;
  /** An account's journal from a cursor on, each entry exactly once. */
  journal(options: FollowOptions): Cancel;
  /** Watches a credential for the connections that use it. */
  credential(credential: Credential): Held<CredentialWatch>;
  /** How many sources are open. */
  size(): number;
}

interface Chart {
  readonly symbol: string;
  readonly interval: CandleInterval;
}

const itself = (key: string): string => key;

export function createVenueStream(gateway: Gateway, venue: Venue): VenueStream {
  const prices = createShared(itself, () => createPriceSource(gateway, venue));
  const books = createShared(itself, (symbol) => createBookSource(gateway, venue, symbol));
  const trades = createShared(itself, (symbol) => createTradeSource(venue, symbol));
  const candles = createShared(
    ({ symbol, interval }: Chart) => `${symbol} ${interval}`,
    ({ symbol, interval }) => createCandleSource(gateway, venue, symbol, interval),
  );
  const credentials = createShared(
    (credential: Credential) => (credential.kind === 'agent' ? `${credential.agent} ${credential.trader}` : credential.hash),
    (credential) => watchCredential(gateway, venue, credential),
  );
  const journal = createJournalHub(gateway, venue);
  const positionPolls = createPollRing(venue.clock, POSITION_POLLS);
  const walletPolls = createPollRing(venue.clock, WALLET_POLLS);
  const positions = createShared(itself, (trader: Address) =>
    createPositionSource({ gateway, venue, journal, polls: positionPolls, trader }),
  );
  const accounts = createShared(itself, (trader: Address) => createAccountSource({ gateway, venue, journal, polls: walletPolls, trader }));
  const counted = [prices, books, trades, candles, credentials, positions, accounts, journal];
  return {
    venue,
    prices: () => prices.hold(''),
    book: (symbol) => books.hold(symbol),
    trades: (symbol) => trades.hold(symbol),
    candles: (symbol, interval) => candles.hold({ symbol, interval }),
    positions: (trader) => positions.hold(trader),
    account: (trader) => accounts.hold(trader),
    journal: (options) => followJournal(gateway, venue, journal, options),
    credential: (credential) => credentials.hold(credential),
    size: () => counted.reduce((sum, { size }) => sum + size(), 0),
  };
}

/** The venues' streams, shared by all APIs. */
export function createStreams(gateway: Gateway): (venue: Venue) => VenueStream {
  const streams = new Map([...gateway.venues.values()].map((venue) => [venue, createVenueStream(gateway, venue)]));
  return (venue) => {
    const stream = streams.get(venue);
    if (!stream) throw new RangeError(`${venue.definition.slug} is not one of this gateway's venues`);
    return stream;
  };
}
