import type { RequestAccess } from './access/request-access.js';
import { createBus, type Bus } from './stream/bus.js';
import type { ChainDefinition, ChainSlug } from './chains/chains.js';
import { GatewayError } from './errors.js';
import type { FacadeSettings } from './config/facade.js';
import type { Changes } from './ports/stores/tracking.js';
import type { JournalEntry } from './ports/stores/journal.js';
import type { CandleRecorder } from './markets/candle-recorder.js';
import type { OrderSettings, Referrers } from './trading/order-variables.js';
import type { Alerts } from './observability/alerts/alerts.js';
import type { Relayer, WalletAdoption } from './ports/relayer.js';
import type { MetricsBook } from './observability/metrics.js';
import type { RequestScopes } from './observability/tracing.js';
import type { NoticeSource } from './ports/stores/notifications.js';
import type { CatchUp } from './indexer/catch-up.js';
import type { MarketFeed } from './ports/feed.js';
import type { Chain, ChainFacts } from './ports/chain.js';
import type { DueWork, Store } from './ports/store.js';
import type { Logger } from './ports/log.js';
import type { Clock, RandomBytes } from './ports/clock.js';
import type { BlockHead, Cancel } from './types.js';
import { USED_SELECTORS, type WriteName } from './chains/diamond-functions.js';
import type { Collateral } from './domain/market.js';
import { openingsHalt, type ContractCheck, type ContractStanding } from './domain/contract-doubt.js';

/** One chain with its ports bound. Use cases take the gateway first, then the venue. */
export interface Venue {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly chain: Chain;
  readonly feed: MarketFeed;
  /** Null: the facade is read-only here, as long as a wallet of it waits to be adopted too. */
  readonly relayer: Relayer | null;
  /** Null where no relayer is configured. */
  readonly adoption: WalletAdoption | null;
  readonly referrers: Referrers;
  readonly candles: CandleRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  /** What the indexer knows of the chain: the only mutable part. `core/indexer/watch-head.ts` writes it, apart from `followed`. */
  readonly state: VenueState;
}

export interface VenueState {
  facts: ChainFacts | null;
  /** What is stored of the contract; null before it was read. Written by `core/indexer/contract-standing.ts`. */
  contract: ContractStanding | null;
  /** The last checks of the contract; null before the first. Written by `core/indexer/identify.ts`. */
  checked: ContractCheck | null;
  head: { readonly block: BlockHead; readonly seenAt: number } | null;
  /** The last node failure; null while it answers. */
  fault: string | null;
  /** How far the chain is indexed; written only by `core/indexer/follow-chain.ts`. */
  readonly followed: {
    block: bigint | null;
    caughtUpAt: number | null;
    fault: string | null;
    /** Since when every round of this replica has failed; null while they succeed. */
    failing: { readonly since: number; readonly fault: string } | null;
  };
  /** Set while the index is far behind the head; written by the head watch. */
  catchUp: CatchUp | null;
}

export interface GatewayEvents {
  head: { readonly venue: Venue; readonly block: BlockHead };
  prices: { readonly venue: Venue; readonly pairs: readonly number[] };
  config: { readonly venue: Venue };
  /** Journal entries of a venue's accounts from any replica; each once, in order per account. */
  journal: { readonly venue: Venue; readonly entries: readonly JournalEntry[] };
  /** Once a second: what is due on the chain. `askedAt`: monotonic ms before it was read. */
  due: { readonly venue: Venue; readonly askedAt: number; readonly due: DueWork };
  /** Orders and positions that changed, after they are stored. */
  tracked: { readonly venue: Venue; readonly block: bigint; readonly changes: Changes };
}

export interface Gateway {
  readonly mode: 'production' | 'sandbox';
  readonly version: string;
  readonly commit: string;
  /** The `name` of the EIP-712 domain of this deployment. */
  readonly serviceName: string;
  readonly venues: ReadonlyMap<string, Venue>;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly randomBytes: RandomBytes;
  /** Aborts when the service is about to end. */
  readonly stopping: AbortSignal;
  /** The protocol's own notifications; null where none are configured. */
  readonly notices: NoticeSource | null;
  readonly orders: OrderSettings;
  readonly facade: FacadeSettings;
  /** Signatures, nonces, limits. */
  readonly access: RequestAccess;
  /** Request scopes for traces and logs; null where neither is enabled. */
  readonly scopes: RequestScopes | null;
  /** Metrics recorded while requests are served. */
  readonly metrics: MetricsBook;
  /** Reports faults to the operator. */
  readonly alerts: Alerts;
  readonly bus: Bus<GatewayEvents>;
}

export type GatewayParts = Omit<Gateway, 'venues' | 'bus'> & { readonly venues: readonly Venue[] };

export function createGateway(parts: GatewayParts): Gateway {
  const bus = createBus<GatewayEvents>((kind, error) => parts.log.error('bus.listener-failed', { kind, error }));
  for (const venue of parts.venues) {
    venue.feed.on('price', (pairs) => bus.emit('prices', { venue, pairs }));
    venue.feed.on('config', () => bus.emit('config', { venue }));
  }
  return { ...parts, bus, venues: new Map(parts.venues.map((venue) => [venue.definition.slug, venue])) };
}

export function venueOf(gateway: Gateway, slug: string): Venue {
  const venue = gateway.venues.get(slug);
  if (!venue) throw new GatewayError('CHAIN_NOT_FOUND', { chain: slug.slice(0, 64), available: [...gateway.venues.keys()] });
  return venue;
}

/** Listens to events of one venue. */
export const onVenue = <Kind extends keyof GatewayEvents>(
  { bus }: Pick<Gateway, 'bus'>,
  venue: Venue,
  kind: Kind,
  listener: (event: GatewayEvents[Kind]) => void,
): Cancel =>
  bus.on(kind, (event) => {
    if (event.venue === venue) listener(event);
  });

/** A facet may be missing on a chain or removed by an upgrade; operations that need it are rejected as a whole. */
export function requireServed(
  { definition, state: { facts } }: Pick<Venue, 'definition' | 'state'>,
  functions: readonly WriteName[],
): void {
  if (facts === null) throw new GatewayError('NOT_READY', { reason: 'the node has not been asked what the contracts serve' });
  const missing = functions.find((name) => facts.missing?.includes(name));
  if (missing !== undefined)
    throw new GatewayError('UNSUPPORTED', { reason: `The contracts on ${definition.slug} do not serve ${missing}, which this needs.` });
}

/** Why no position is opened on the chain, as a clause; null while positions are opened. */
export function haltOfOpenings({
  state: { contract, checked },
}: {
  readonly state: Pick<VenueState, 'contract' | 'checked'>;
}): string | null {
  return contract === null ? 'what is known of the contracts has not been read yet' : openingsHalt(contract, checked);
}

/** Closes, cancels and reclaims go on: they only reduce what is at stake. */
export function requireOpenings(venue: Pick<Venue, 'state'>): void {
  const reason = haltOfOpenings(venue);
  if (reason !== null) throw new GatewayError('NOT_READY', { reason, concerns: 'openings' });
}

export const serves = ({ state: { facts } }: Pick<Venue, 'state'>, name: WriteName): boolean =>
  facts !== null && facts.missing?.includes(name) !== true;

/** Whether the contract has the function with this selector, as far as it is known. */
export const isServed = ({ facts }: Pick<VenueState, 'facts'>, selector: string): boolean =>
  facts?.missing?.every((name) => USED_SELECTORS.get(name) !== selector) !== false;

/** Rejects while backend and contract name different tokens for a collateral, because the trader would approve a token the contract does not take. */
export function requireAgreed({ state: { facts } }: Pick<Venue, 'state'>, { index, symbol, address }: Collateral): void {
  const real = facts?.collaterals?.[index - 1]?.address;
  if (real !== undefined && real.toLowerCase() !== address.toLowerCase())
    throw new GatewayError('NOT_READY', { reason: `the backend and the contracts name different tokens for the collateral ${symbol}` });
}
