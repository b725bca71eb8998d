import { agreesAnew, beingChecked, isOutdated, NOTHING_KNOWN, openDoubts, type ContractCheck } from '../domain/contract-doubt.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { redactText } from '../observability/redact.js';
import { ForeignChainError, NoNodeError, type ChainFacts } from '../ports/chain.js';
import type { ReadTrades } from '../ports/account-chain.js';
import { referrersOf } from '../trading/order-variables.js';
import { factNotes, missingNote } from './contract-notes.js';

/** Facets change only by votes that take days, and a change is followed; one check costs one request. */
const AGAIN_MS = 10 * 60_000;
/** After a check that failed or turned something off, so that one faulty node does not keep it off for long. */
const RETRY_MS = 60_000;
/** Minimum interval, so that a flapping node is not asked after every recovery. */
const SOONEST_MS = 5_000;
/** The same after a change of the contract, because nothing is signed meanwhile. */
const CHANGED_MS = 1_000;
/** While findings keep positions from being opened. */
const DOUBTED_MS = 10_000;

export interface Identification {
  /** Identifies the node if that has not happened yet; throws when it does not answer or serves another chain. */
  ensure(): Promise<void>;
  /** Starts a check in the background when one is due, soon after the node recovered, and at once after the contract changed. */
  refresh(wasAway: boolean): void;
  /** Checks now, or shares the check that is under way. Never rejects. */
  now(): Promise<void>;
  /** Checks in the background, unless that was done a moment ago. */
  soon(): void;
  /** Resolves when no check is in flight. */
  settled(): Promise<void>;
}

const identifications = new WeakMap<Venue, Identification>();

/** The one of the venue in this process. */
export function identificationOf(gateway: Pick<Gateway, 'store'>, venue: Venue): Identification {
  const known = identifications.get(venue) ?? createIdentification(gateway, venue);
  identifications.set(venue, known);
  return known;
}

/** Keeps `venue.state.facts` and `venue.state.checked` current. */
function createIdentification(gateway: Pick<Gateway, 'store'>, venue: Venue): Identification {
  const { state, clock, log, chain } = venue;
  let dueAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    askedAt = clock.now();
    const { cut, cutHash } = state.contract ?? NOTHING_KNOWN;
    const facts = await chain.identify(referrersOf(venue.referrers));
    const found = cut === null ? NO_FINDINGS : await findingsOf(venue, facts, cut);
    const notes = factNotes(venue, facts);
    if (state.facts === null) log.info('chain.identified', { chainId: facts.chainId, missing: facts.missing });
    if (notes.join() !== (state.facts === null ? '' : factNotes(venue, state.facts).join())) log.warn('chain.differs', { notes });
    const before = state.facts;
    state.facts = facts;
    state.checked = { block: facts.block, cut, cutHash, ...found };
    const isDoubted = await judge(gateway, venue, state.checked, before);
    dueAt = clock.now() + (isDoubted ? DOUBTED_MS : facts.missing?.length ? RETRY_MS : AGAIN_MS);
  }

  function failed(error: unknown): void {
    dueAt = clock.now() + RETRY_MS;
    const fault = redactText(error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
    log.warn('chain.not-identified', { fault });
    // The node now serves another chain, so the stored facts must not be used; the next poll of the head identifies it again.
    if (error instanceof ForeignChainError) state.facts = null;
  }

  const now = (): Promise<void> =>
    (asking ??= ask()
      .catch(failed)
      .finally(() => (asking = null)));

  return {
    async ensure() {
      await asking;
      if (state.facts === null) await ask();
    },
    refresh(wasAway) {
      if (state.contract !== null && isOutdated(state.contract, state.checked)) dueAt = Math.min(dueAt, askedAt + CHANGED_MS);
      if (wasAway) dueAt = Math.min(dueAt, askedAt + SOONEST_MS);
      if (clock.now() >= dueAt) void now();
    },
    now,
    soon() {
      if (clock.now() - askedAt >= CHANGED_MS) void now();
    },
    async settled() {
      await asking;
    },
  };
}

type Findings = Pick<ContractCheck, 'findings' | 'logged' | 'isWhole'>;

const NO_FINDINGS: Findings = { findings: [], logged: [], isWhole: true };

/** What is not as this release expects, in the sentences of `/ready`. */
async function findingsOf({ chain, feed }: Venue, { missing, collaterals }: ChainFacts, since: bigint): Promise<Findings> {
  const incomplete = (findings: readonly string[], logged: readonly string[] = []): Findings => ({ findings, logged, isWhole: false });
  if (missing === null) return incomplete(['the Diamond does not list the functions it serves']);
  const functions = missing.map((name) => missingNote(name));
  // Without the functions that count there is nothing to compare.
  if (['pairsCount', 'groupsCount', 'feesCount'].some((name) => missing.includes(name))) return incomplete(functions);
  const figures = await chain.figures(since).catch((error: unknown) => {
    if (error instanceof NoNodeError) throw error;
    return null;
  });
  // Only openings wait for the operator then; without a finding nothing at all could be signed.
  if (figures === null) return incomplete([...functions, 'the Diamond does not give the figures that are compared']);
  const { pairs, groups, fees, brokenEvents } = figures;
  const logged = brokenEvents.map((name) => `the Diamond logs ${name} in another form`);
  if (feed.status().configFrom !== 'backend') return incomplete([...functions, ...logged], logged);
  const config = feed.config();
  const said = countsText(config.pairs.length, config.groups.length, config.fees.length, config.collaterals.length);
  const found = countsText(pairs, groups, fees, collaterals?.length ?? config.collaterals.length);
  const counts = said === found ? [] : [`the Diamond has ${found}, and the backend says ${said}`];
  return { findings: [...functions, ...logged, ...counts], logged, isWhole: true };
}

const countsText = (pairs: number, groups: number, fees: number, collaterals: number): string =>
  `${pairs} pairs, ${groups} groups, ${fees} fee rows and ${collaterals} collaterals`;

/** True while findings keep positions from being opened. What the contract lacked before the change is no finding of it. */
async function judge({ store }: Pick<Gateway, 'store'>, venue: Venue, check: ContractCheck, before: ChainFacts | null): Promise<boolean> {
  const { definition, state, clock, log } = venue;
  const { contract } = state;
  if (contract === null || check.cut === null || check.cutHash === null) return false;
  const cut = { block: check.cut, hash: check.cutHash };
  const doubts = openDoubts(contract, check);
  if (doubts.length === 0) {
    // From now on a finding is not the change's: the protocol lists markets before its backend names them.
    if (agreesAnew(contract, check) && (await store.contract.agree(definition.slug, cut, clock.now())))
      noteAccepted(venue, check, contract.accepted?.findings ?? []);
    return false;
  }
  const lacked = before !== null && before.block < cut.block ? (before.missing ?? []).map((name) => missingNote(name)) : [];
  if (!doubts.every((doubt) => lacked.includes(doubt))) return true;
  const accepted = { findings: check.findings, reason: 'the contract lacked this before the change' };
  if (!(await store.contract.accept(definition.slug, cut, accepted, clock.now()))) return true;
  log.info('chain.change-accepted', { block: cut.block, lacked });
  noteAccepted(venue, check, check.findings);
  return false;
}

/** What is known of the contract may have been read again meanwhile, and may name a later change. */
function noteAccepted({ state }: Venue, { cut, cutHash }: ContractCheck, findings: readonly string[]): void {
  const { contract } = state;
  if (contract === null || cut === null || contract.cut !== cut || contract.cutHash !== cutHash) return;
  state.contract = { ...contract, accepted: { upTo: cut, findings } };
}

/** Nothing is signed on what was known before the contract changed: the checks take a moment. */
export async function requireCurrent(gateway: Pick<Gateway, 'store'>, venue: Venue): Promise<void> {
  const { contract, checked } = venue.state;
  if (contract === null || !isOutdated(contract, checked)) return;
  await identificationOf(gateway, venue).now();
  const { contract: now } = venue.state;
  if (now !== null && isOutdated(now, venue.state.checked)) throw new GatewayError('NOT_READY', { reason: beingChecked(now) });
}

/** A read that the contract does not answer; it is identified again in the background, unless its lack is known. */
export function noticeMissing(venue: Venue, { isListed, trades }: Pick<ReadTrades, 'isListed' | 'trades'>): void {
  const { facts, head } = venue.state;
  const isWhole =
    isListed &&
    trades.every((one) => [one.info, one.liquidation, one.fees, one.takenOut, ...Object.values(one.pair)].every((part) => part !== null));
  if (isWhole || facts === null || head === null || facts.missing?.length !== 0 || facts.block >= head.block.number) return;
  identifications.get(venue)?.soon();
}

/** The contract does not know a function that it had: it is identified again, unless that was done at this block. */
export async function identifyAgain(gateway: Pick<Gateway, 'store'>, venue: Venue): Promise<void> {
  const { facts, head } = venue.state;
  if (facts !== null && head !== null && facts.block >= head.block.number) return;
  await identificationOf(gateway, venue).now();
}
