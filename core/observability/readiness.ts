import type { Gateway, Venue } from '../gateway.js';
import type { EndpointHealth } from '../ports/chain.js';
import { isNearHead, type CatchUp } from '../indexer/catch-up.js';
import { adoptCommand, continuityNotes } from './lost-commits.js';
import { venueNotes } from '../indexer/contract-notes.js';

/** What a chain needs to be served, and its relayer. */
export const CHAIN_PARTS = ['rpc', 'follower', 'feed', 'relayer'] as const;
export type ChainPart = (typeof CHAIN_PARTS)[number];

export interface ChainReadiness {
  readonly ready: boolean;
  /** Sentences for an operator; empty when ready. */
  readonly reasons: readonly string[];
  /** All faults, by part; a part that is not configured has none. */
  readonly faults: Readonly<Record<ChainPart, readonly string[]>>;
  /** Null without a relayer. A lane that cannot send does not make the chain unready. */
  readonly relayer: { readonly ready: boolean; readonly reasons: readonly string[] } | null;
  /** Deviations that do not affect readiness: a disabled write, an address that differs on chain, a backend replaced by the chain. */
  readonly notes: readonly string[];
  readonly block: bigint | null;
  /** Since the newest block was first seen; null before the first. */
  readonly headAgeMs: number | null;
  /** Since the last price of any market; null before the first. */
  readonly priceAgeMs: number | null;
  /** How far the chain is indexed. */
  readonly followed: { readonly block: bigint | null; readonly behind: bigint | null; readonly catchUp: CatchUp | null };
  readonly endpoints: readonly EndpointHealth[];
}

export interface Readiness {
  readonly ready: boolean;
  /** It is shutting down: load balancers must leave it out. */
  readonly stopping: boolean;
  /** `notes`: whether commits were lost, which makes nothing unready. */
  readonly database: { readonly ready: boolean; readonly reasons: readonly string[]; readonly notes: readonly string[] };
  readonly chains: Readonly<Record<string, ChainReadiness>>;
}

/** A head this old is too old to trade on, on any of our chains. */
const HEAD_STALE_MS = 30_000;
const DATABASE_TIMEOUT_MS = 2_000;
/** One round may fail; rounds that fail for this long will go on failing. The cursor may be at the head all the same. */
const FAILING_MS = 10_000;

export async function readiness(gateway: Gateway): Promise<Readiness> {
  const fault = await databaseFault(gateway);
  const database = { ready: fault === null, reasons: fault === null ? [] : [fault], notes: continuityNotes(gateway) };
  const chains = Object.fromEntries([...gateway.venues].map(([slug, venue]) => [slug, chainReadiness(venue)]));
  const stopping = gateway.stopping.aborted;
  const isServing = database.ready && Object.values(chains).every((chain) => chain.ready);
  return { ready: isServing && !stopping, stopping, database, chains };
}

function chainReadiness(venue: Venue): ChainReadiness {
  const faults = { rpc: chainReasons(venue), follower: followReasons(venue), feed: feedReasons(venue), relayer: relayerReasons(venue) };
  const reasons = [...faults.rpc, ...faults.follower, ...faults.feed];
  const block = venue.state.head?.block.number ?? null;
  return {
    ready: reasons.length === 0,
    reasons,
    faults,
    relayer: venue.relayer && { ready: faults.relayer.length === 0, reasons: faults.relayer },
    notes: [...venueNotes(venue), ...feedNotes(venue), ...adoptionNotes(venue)],
    block,
    headAgeMs: venue.state.head && Math.max(0, venue.clock.now() - venue.state.head.seenAt),
    priceAgeMs: venue.feed.status().parts.price.ageMs,
    followed: followedOf(venue, block),
    endpoints: venue.chain.endpoints(),
  };
}

/** Each wallet that sends nothing now, and why. */
function relayerReasons({ relayer }: Venue): string[] {
  if (relayer === null) return [];
  return relayer.wallets().flatMap((wallet) => {
    const { mode, reason } = relayer.walletMode(wallet);
    if (mode !== 'running') return [`the wallet ${wallet} is ${mode} by its operator${reason === null ? '' : `: ${reason}`}`];
    const trouble = relayer.laneProblem(wallet)?.reason ?? relayer.trouble(wallet);
    return trouble === null ? [] : [`the wallet ${wallet} cannot send: ${trouble}`];
  });
}

function followedOf({ state: { followed, catchUp } }: Venue, head: bigint | null): ChainReadiness['followed'] {
  const behind = head === null || followed.block === null ? null : head - followed.block;
  return { block: followed.block, behind: behind !== null && behind < 0n ? 0n : behind, catchUp };
}

function chainReasons({ state, clock }: Venue): string[] {
  if (state.fault !== null) return [`the node cannot be asked: ${state.fault}`];
  if (state.head === null) return ['the node has not been asked yet'];
  const age = clock.now() - state.head.seenAt;
  return age > HEAD_STALE_MS ? [`the newest block is ${Math.round(age / 1000)} s old`] : [];
}

/** Orders and positions are only as current as the index. */
function followReasons(venue: Venue): string[] {
  const { followed, head, catchUp } = venue.state;
  const failedFor = followed.failing === null ? 0 : venue.clock.now() - followed.failing.since;
  if (followed.failing !== null && failedFor >= FAILING_MS)
    return [`the chain's events have not been stored for ${Math.round(failedFor / 1000)} s: ${followed.failing.fault}`];
  if (head === null || isNearHead(venue)) return [];
  const reached = followed.block === null ? 'none' : followed.block.toString();
  const trouble = followed.fault === null ? '' : `: ${followed.fault}`;
  return [`the chain's events are in up to block ${reached} of ${head.block.number}${progressText(catchUp)}${trouble}`];
}

function progressText(catchUp: CatchUp | null): string {
  if (catchUp === null) return '';
  const { percent, blocksPerSecond, secondsLeft } = catchUp;
  const pace = blocksPerSecond === null ? '' : `, ${blocksPerSecond} blocks per second`;
  return ` (${percent} %${pace}${secondsLeft === null ? '' : `, about ${secondsLeft} s left`})`;
}

function feedReasons({ feed }: Venue): string[] {
  const { parts, configFrom } = feed.status();
  return (['config', 'price'] as const).flatMap((part) => {
    // A silent backend does no harm while the chain provides the configuration.
    const isServed = parts[part].state === 'ok' || (part === 'config' && configFrom !== null);
    return isServed ? [] : [`the ${part} feed is ${parts[part].state}`];
  });
}

/** Does not affect readiness, but the operator should know that the configuration depends on the node alone. */
function feedNotes({ feed }: Venue): string[] {
  const { parts, configFrom } = feed.status();
  if (configFrom !== 'chain') return [];
  const { ageMs } = parts.config;
  const since = ageMs === null ? 'was not heard since the start' : `was last heard ${Math.round(ageMs / 1_000)} s ago`;
  return [`the backend ${since}: the market configuration is read from the chain alone`];
}

/** The facade is read-only until then. */
const adoptionNotes = ({ adoption, definition: { slug } }: Venue): string[] =>
  (adoption?.waiting() ?? []).map(
    ({ wallet, reason }) =>
      `the database does not know the wallet ${wallet}, and ${reason}: nothing is relayed. Is it the right database? Then run ${adoptCommand(slug, wallet)}`,
  );

/** Null when it answers in time. */
async function databaseFault({ store, clock }: Gateway): Promise<string | null> {
  const waiting = new AbortController();
  const answer = store.ping().then(
    () => null,
    () => 'the database cannot be asked',
  );
  const gaveUp = clock
    .sleep(DATABASE_TIMEOUT_MS, waiting.signal)
    .then(() => `the database has not answered within ${DATABASE_TIMEOUT_MS / 1000} s`);
  const fault = await Promise.race([answer, gaveUp]);
  waiting.abort();
  return fault;
}
