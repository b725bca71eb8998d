import type { CandleInterval } from '../domain/candle.js';
import type { Account } from '../account/get-account.js';
import type { Position } from '../account/list-positions.js';
import { onVenue, type Gateway, type Venue } from '../gateway.js';
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
import { requireActive } from '../access/agent-status.js';
import { isKeyExpired } from '../access/api-keys.js';
import { freshDelegate } from '../access/delegation.js';
import { isExpired, type Agent } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import { createTopic } from './bus.js';

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

/** The credential a connection authenticated with; an API key by its hash. */
export type Credential =
  { readonly kind: 'agent'; readonly agent: Address; readonly trader: Address } | { readonly kind: 'apiKey'; readonly hash: string };

interface CredentialWatch {
  /** Called when the credential becomes invalid. */
  listen(onLost: (reason: GatewayError) => void): Cancel;
  readonly stop: Cancel;
}

/** The contract emits no event when a delegate changes, so the delegate is polled while a connection depends on it. */
export const DELEGATE_POLL_MS = 10_000;
/** Node timers overflow above 2^31 ms. */
const LONGEST_TIMER_MS = 24 * 60 * 60 * 1000;

/** Watches a credential while connections use it: revocation through the journal, expiry by timer, delegation by polling. */
export function watchCredential(gateway: Gateway, venue: Venue, credential: Credential): CredentialWatch {
  const { clock, log } = venue;
  const topic = createTopic<GatewayError>('credential', log);
  let isStopped = false;
  let cancelExpiry: Cancel = () => undefined;

  const invalidate = (reason: GatewayError): void => {
    if (!isStopped) topic.publish(reason);
  };

  const armExpiry = ({ agent, scope }: Agent): void => {
    cancelExpiry();
    if (isStopped || scope.expiresAt === null) return;
    const { expiresAt } = scope;
    if (isExpired(scope, clock.now())) return invalidate(new GatewayError('AGENT_EXPIRED', { agent, expiresAt }));
    cancelExpiry = clock.after(Math.min(expiresAt - clock.now(), LONGEST_TIMER_MS), () => void check());
  };

  const checkAgent = (agent: Agent): boolean => {
    const isTakenOver = credential.kind === 'agent' && agent.trader !== credential.trader;
    if (isTakenOver || agent.revokedAt !== null) invalidate(new GatewayError('AGENT_REVOKED', { agent: agent.agent }));
    else armExpiry(agent);
    return !isTakenOver;
  };

  const readAgent = async (address: Address, isFresh: boolean): Promise<void> => {
    const agent = await gateway.access.agents.refresh({ chain: venue.definition.slug, agent: address });
    if (agent === null) throw new GatewayError('AGENT_UNKNOWN', { agent: address });
    if (!checkAgent(agent)) return;
    if (isFresh && agent.agent !== agent.trader) await freshDelegate(venue, agent.trader);
    await requireActive(venue, agent);
  };

  const readKey = async (hash: string): Promise<void> => {
    const known = await gateway.access.apiKeys.refresh({ chain: venue.definition.slug, hash });
    if (known === null || isKeyExpired(known, clock.now())) throw new GatewayError('API_KEY_UNKNOWN', {});
  };

  /** An unavailable node or database does not invalidate a credential. */
  const check = async (isFresh = false): Promise<void> => {
    try {
      await (credential.kind === 'agent' ? readAgent(credential.agent, isFresh) : readKey(credential.hash));
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) invalidate(refusal);
      else if (!isStopped) log.warn('stream.credential-not-read', { error });
    }
  };

  const cancels = [
    clock.every(DELEGATE_POLL_MS, () => void check(true)),
    onVenue(gateway, venue, 'journal', ({ entries }) => {
      if (credential.kind !== 'agent') return;
      for (const { fact } of entries) if (fact.kind === 'agent' && fact.agent.agent === credential.agent) checkAgent(fact.agent);
    }),
  ];
  void check();
  return {
    listen: topic.listen,
    stop() {
      isStopped = true;
      cancelExpiry();
      cancels.forEach((cancel) => cancel());
    },
  };
}

const refusalOf = (error: unknown): GatewayError | null => (error instanceof GatewayError && error.status < 500 ? error : null);
