import type { Gateway, Venue } from './gateway.js';
import type { EndpointHealth } from './ports.js';
import { isNearHead, type CatchUp } from './tracking/catch-up.js';

export interface ChainReadiness {
  readonly ready: boolean;
  /** Sentences for an operator; empty when ready. */
  readonly reasons: readonly string[];
  readonly block: bigint | null;
  /** How far the chain's events are in. */
  readonly followed: { readonly block: bigint | null; readonly behind: bigint | null; readonly catchUp: CatchUp | null };
  readonly endpoints: readonly EndpointHealth[];
}

export interface Readiness {
  readonly ready: boolean;
  readonly database: { readonly ready: boolean };
  readonly chains: Readonly<Record<string, ChainReadiness>>;
}

/** A head this old is no head to trade on, on any of our chains. */
const HEAD_STALE_MS = 30_000;
const DATABASE_PATIENCE_MS = 2_000;

export async function readiness(gateway: Gateway): Promise<Readiness> {
  const database = { ready: await answersInTime(gateway) };
  const chains = Object.fromEntries([...gateway.venues].map(([slug, venue]) => [slug, chainReadiness(venue)]));
  return { ready: database.ready && Object.values(chains).every((chain) => chain.ready), database, chains };
}

function chainReadiness(venue: Venue): ChainReadiness {
  const reasons = [...chainReasons(venue), ...followReasons(venue), ...feedReasons(venue)];
  const block = venue.state.head?.block.number ?? null;
  return { ready: reasons.length === 0, reasons, block, followed: followedOf(venue, block), endpoints: venue.chain.endpoints() };
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

/** Reads of orders and positions are only as true as the follower is near. */
function followReasons(venue: Venue): string[] {
  const { followed, head, catchUp } = venue.state;
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
    // A backend that has gone silent does no harm while the chain answers for it.
    const isServed = parts[part].state === 'ok' || (part === 'config' && configFrom !== null);
    return isServed ? [] : [`the ${part} feed is ${parts[part].state}`];
  });
}

async function answersInTime({ store, clock }: Gateway): Promise<boolean> {
  const patience = new AbortController();
  const answer = store.ping().then(
    () => true,
    () => false,
  );
  const gaveUp = clock.sleep(DATABASE_PATIENCE_MS, patience.signal).then(() => false);
  const ready = await Promise.race([answer, gaveUp]);
  patience.abort();
  return ready;
}
