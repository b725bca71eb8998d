import { collateralDifferences, collateralDoubts, PUBLISHED_COLLATERALS } from '../chains/collaterals.js';
import { isWriteName, USED_SELECTORS, WRITE_FUNCTIONS } from '../chains/diamond-functions.js';
import type { Venue } from '../gateway.js';
import { referrersOf } from '../trading/referrers.js';
import { ForeignChainError, type ChainFacts } from '../ports/chain.js';
import { redactText } from '../observability/redact.js';

/** Facets change only by votes that take days; one check costs one request. */
const AGAIN_MS = 10 * 60_000;
/** After a check that failed or turned something off, so that one faulty node does not keep it off for long. */
const RETRY_MS = 60_000;
/** Minimum interval, so that a flapping node is not asked after every recovery. */
const SOONEST_MS = 5_000;

export interface Identification {
  /** Identifies the node if that has not happened yet; throws when it does not answer or serves another chain. */
  ensure(): Promise<void>;
  /** Starts a check in the background when one is due, or soon after the node recovered. */
  refresh(wasAway: boolean): void;
  /** Resolves when no check is in flight. */
  settled(): Promise<void>;
}

/** Keeps `venue.state.facts` current. */
export function createIdentification(venue: Venue): Identification {
  const { state, clock, log, chain } = venue;
  let dueAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    askedAt = clock.now();
    const facts = await chain.identify(referrersOf(venue.referrers));
    const notes = factNotes(venue, facts);
    if (state.facts === null) log.info('chain.identified', { chainId: facts.chainId, missing: facts.missing });
    if (notes.join() !== (state.facts === null ? '' : factNotes(venue, state.facts).join())) log.warn('chain.differs', { notes });
    state.facts = facts;
    dueAt = clock.now() + (facts.missing?.length ? RETRY_MS : AGAIN_MS);
  }

  function failed(error: unknown): void {
    dueAt = clock.now() + RETRY_MS;
    const fault = redactText(error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
    log.warn('chain.not-identified', { fault });
    // The node now serves another chain, so the stored facts must not be used; the next poll of the head identifies it again.
    if (error instanceof ForeignChainError) state.facts = null;
  }

  return {
    async ensure() {
      if (state.facts === null) await ask();
    },
    refresh(wasAway) {
      if (wasAway) dueAt = Math.min(dueAt, askedAt + SOONEST_MS);
      if (asking !== null || clock.now() < dueAt) return;
      asking = ask()
        .catch(failed)
        .finally(() => (asking = null));
    },
    async settled() {
      await asking;
    },
  };
}

/** Notes for the operator: functions the Diamond lacks, and values that differ from the published ones. The service uses the chain's values. */
export function factNotes({ definition }: Pick<Venue, 'definition'>, { missing, collaterals, ...asked }: ChainFacts): string[] {
  const ofCollaterals = collaterals === null ? [] : collateralDifferences(PUBLISHED_COLLATERALS[definition.slug], collaterals);
  const differences = [...ofCollaterals, ...referrerNotes(asked)];
  if (missing === null) return ['the Diamond does not list the functions it serves: they are unchecked', ...differences];
  return [...missing.map(missingNote), ...differences];
}

/** A referrer that is not whitelisted is ignored by the contract and earns nothing. */
const referrerNotes = ({ unlisted = [], unchecked = [] }: Pick<ChainFacts, 'unlisted' | 'unchecked'>): string[] => [
  ...unlisted.map((referrer) => `the protocol has not whitelisted ${referrer} as a referrer: openings name it, and it earns nothing`),
  ...unchecked.map((referrer) => `the Diamond does not say whether ${referrer} is whitelisted as a referrer`),
];

const missingNote = (name: string): string =>
  `the Diamond does not serve ${name} (${USED_SELECTORS.get(name) ?? 'unknown'}): ${isWriteName(name) ? `${WRITE_FUNCTIONS[name].turnsOff} is off` : 'what is read with it is missing'}`;

/** All current notes of the venue; empty until its node is identified. */
export function venueNotes({ definition, state: { facts }, feed }: Venue): string[] {
  if (facts === null) return [];
  const { collaterals } = facts;
  const isComparable = collaterals !== null && feed.status().configFrom === 'backend';
  return [...factNotes({ definition }, facts), ...(isComparable ? collateralDoubts(feed.config().collaterals, collaterals) : [])];
}
