import { z } from 'zod';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { SWITCH_MODES, type SwitchMode } from '../../core/ports/stores/switches.js';
import { chosenVenues, operatorRoute, relayedVenue, requireOwn, Wallet, type Place } from './operator-route.js';
import type { ChainSlug } from '../../core/chains/chains.js';
import { GatewayError } from '../../core/errors.js';
import { isOver, type RelayJob } from '../../core/ports/stores/relay.js';
import { delegationTx } from '../../core/access/delegation.js';

/** Shown to traders, so it must be a single line of text. */
const Reason = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}]*$/u, 'must be one line');

const Change = z.strictObject({
  /** Absent: every chain with a relayer. */
  chain: z.string().optional(),
  /** Absent: every wallet of the chain. */
  wallet: Wallet.optional(),
  mode: z.enum(SWITCH_MODES, `must be one of ${SWITCH_MODES.join(', ')}`),
  reason: Reason.optional(),
});
const Where = z.strictObject({ chain: z.string().optional(), wallet: Wallet.optional() });

/** Pause, drain and resume. The switches are stored, so every replica follows within a second and a restart changes nothing. */
export const SWITCH_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/switches',
    query: Where,
    handle: async ({ gateway, query }) => describeSwitches(gateway, query),
  }),
  operatorRoute({
    method: 'POST',
    path: '/switches',
    body: Change,
    async handle({ gateway, body: { mode, reason = null, ...where } }) {
      const venues = chosenVenues(gateway, where);
      for (const venue of venues) await turn(gateway, venue, where.wallet ?? null, { mode, reason });
      return describeSwitches(gateway, where);
    },
  }),
];

async function turn(
  { store, clock, log }: Gateway,
  { definition: { slug }, relayer }: Venue,
  wallet: Address | null,
  { mode, reason }: { readonly mode: SwitchMode; readonly reason: string | null },
): Promise<void> {
  // Why a wallet was resumed is logged only: traders see the reason of a wallet that does not run.
  const change = { mode, reason: mode === 'running' ? null : reason };
  // Resuming a whole chain resumes each of its wallets.
  const others = wallet === null && mode === 'running' ? await store.switches.all(slug) : [];
  for (const other of others) if (other.wallet !== null) await store.switches.set(slug, other.wallet, change, clock.now());
  await store.switches.set(slug, wallet, change, clock.now());
  log.warn('relay.switched', { chain: slug, wallet, mode, reason });
  await relayer?.lookAtSwitches();
}

async function describeSwitches(gateway: Gateway, where: Place): Promise<object> {
  return { chains: await Promise.all(chosenVenues(gateway, where).map((venue) => describeVenue(gateway, venue, where.wallet))) };
}

async function describeVenue({ store }: Gateway, venue: Venue, only: Address | undefined): Promise<object> {
  const { definition, relayer } = venue;
  await relayer?.lookAtSwitches();
  const wallets = (relayer?.wallets() ?? []).filter((wallet) => only === undefined || wallet === only);
  const work = await store.switches.work(definition.slug, wallets);
  return {
    chain: definition.slug,
    wallets: work.map(({ wallet, queued, sent, traders }) => ({
      wallet,
      ...relayer?.walletMode(wallet),
      queued,
      sent,
      /** The wallet has no open jobs. */
      isEmpty: queued + sent === 0,
      traders,
    })),
  };
}

const Drill = z.strictObject({
  chain: z.string().optional(),
  wallet: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address')
    .optional(),
});

/** Gas of a no-op that only uses up a nonce. */
const NO_OP_GAS = 100_000n;
const LOOK_MS = 100;
/** A lane recovers within this time, or an operator must act. */
const HEALS_WITHIN_MS = 60_000;

/** Drills cause a fault on purpose, to verify that the lane recovers. */
export const DRILL_ROUTES = [
  operatorRoute({
    method: 'POST',
    path: '/drills/nonce-gap',
    body: Drill,
    handle: ({ gateway, body }) => drillNonceGap(gateway, relayedVenue(gateway, body.chain), body.wallet?.toLowerCase() ?? null),
  }),
];

async function drillNonceGap(gateway: Gateway, venue: Venue, asked: string | null): Promise<object> {
  const { clock, store, log } = gateway;
  const { slug } = venue.definition;
  const wallet = walletOf(gateway, venue, asked);
  const { nonce } = await venue.chain.relay.account(wallet);
  const startedAt = clock.now();
  const made = await store.switches.drillGap(slug, wallet, nonce, NO_OP_GAS, startedAt);
  if (made === null)
    throw new GatewayError('UNSUPPORTED', { reason: 'The lane is busy, and a gap would hold its orders up; drain it first.' });
  log.warn('relay.drill', { wallet, gap: made.gap });
  const behind = await healed(gateway, slug, made.job, startedAt);
  const isHealed = behind?.state === 'mined' || behind?.state === 'replaced';
  const healedMs = isHealed ? clock.now() - startedAt : null;
  return { chain: slug, wallet, gap: made.gap, isHealed, healedMs, limitMs: HEALS_WITHIN_MS, txHash: behind?.mined?.hash ?? null };
}

function walletOf({ mode }: Gateway, { relayer, definition }: Venue, asked: string | null): Address {
  if (mode !== 'sandbox' && relayer?.areDrillsAllowed() !== true)
    throw new GatewayError('UNSUPPORTED', {
      reason: `Drills are not allowed on ${definition.slug}; RELAYER_DRILLS_<CHAIN>=allow allows them.`,
    });
  const wallets = relayer?.wallets() ?? [];
  const wallet = asked === null ? wallets[0] : wallets.find((address) => address === asked);
  if (wallet === undefined) throw new GatewayError('UNSUPPORTED', { reason: 'That is no wallet of the relayer there.' });
  return wallet;
}

/** The job above the gap can only be mined after the gap is filled: when it is over, the lane has recovered. */
async function healed({ clock, store, stopping }: Gateway, chain: ChainSlug, id: bigint, startedAt: number): Promise<RelayJob | null> {
  for (;;) {
    const job = await store.relay.job(chain, id);
    if (job === null || isOver(job.state) || stopping.aborted || clock.now() - startedAt > HEALS_WITHIN_MS) return job;
    await clock.sleep(LOOK_MS);
  }
}

/** `after`: the `next` of the previous page. */
const RotationWhere = z.strictObject({ chain: z.string().optional(), wallet: Wallet, after: Wallet.optional() });
const Retire = z.strictObject({ chain: z.string().optional(), wallet: Wallet, isRetiring: z.boolean() });

/** Each trader costs a node request: more would delay the reply for too long. */
const PAGE = 1_000;
const ASKED_AT_ONCE = 20;

/** Moves traders from one wallet to another. Only traders can delegate, so a rotation lasts until the last of them did. */
export const ROTATION_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/rotation',
    query: RotationWhere,
    handle: ({ gateway, query }) => describeRotation(gateway, relayedVenue(gateway, query.chain), query.wallet, query.after ?? null),
  }),
  operatorRoute({
    method: 'POST',
    path: '/rotation',
    body: Retire,
    async handle({ gateway, body: { chain, wallet, isRetiring } }) {
      const venue = relayedVenue(gateway, chain);
      const { slug } = venue.definition;
      if (isRetiring && successorsOf(venue, wallet).length === 0)
        throw new GatewayError('UNSUPPORTED', {
          reason: `${wallet} is the only wallet that stays: configure its successor beside it and restart first.`,
        });
      requireOwn(venue, wallet);
      await gateway.store.switches.retire(slug, wallet, isRetiring, gateway.clock.now());
      gateway.log.warn('relay.retiring', { chain: slug, wallet, isRetiring });
      await venue.relayer?.lookAtSwitches();
      return describeRotation(gateway, venue, wallet, null);
    },
  }),
];

const successorsOf = ({ relayer }: Venue, wallet: Address): readonly Address[] =>
  (relayer?.wallets() ?? []).filter((other) => other !== wallet && relayer?.walletMode(other).isRetiring === false);

/** Delegates are read from the chain on each request; stored assignments do not count. */
async function describeRotation(gateway: Gateway, venue: Venue, wallet: Address, after: Address | null): Promise<object> {
  requireOwn(venue, wallet);
  const { definition, relayer } = venue;
  await relayer?.lookAtSwitches();
  const successors = successorsOf(venue, wallet);
  const [work] = await gateway.store.switches.work(definition.slug, [wallet]);
  const traders = await gateway.store.switches.tradersOf(definition.slug, wallet, { after, atMost: PAGE });
  const next = traders.length < PAGE ? null : (traders.at(-1) ?? null);
  const delegates = await delegatesOf(venue, traders);
  const waiting = traders.filter((_, at) => delegates[at] === wallet);
  const unknown = delegates.filter((delegate) => delegate === 'unknown').length;
  const openJobs = (work?.queued ?? 0) + (work?.sent ?? 0);
  return {
    chain: definition.slug,
    wallet,
    isRetiring: relayer?.walletMode(wallet).isRetiring ?? false,
    successors,
    traders: work?.traders ?? 0,
    openJobs,
    /** No trader delegates to the wallet any more, and it has no open jobs. */
    isDone: waiting.length === 0 && unknown === 0 && openJobs === 0 && next === null,
    /** The cursor of the next page; null on the last one. */
    next,
    unknown,
    waiting: waiting.map((trader) => ({ trader, delegationTx: txFor(venue, successors, trader) })),
  };
}

function txFor({ definition }: Venue, successors: readonly Address[], trader: Address): object | null {
  const successor = successors[Number(BigInt(trader) % BigInt(successors.length || 1))];
  return successor === undefined ? null : delegationTx(definition, successor);
}

async function delegatesOf({ chain }: Venue, traders: readonly Address[]): Promise<(Address | null | 'unknown')[]> {
  const found: (Address | null | 'unknown')[] = [];
  for (let from = 0; from < traders.length; from += ASKED_AT_ONCE) {
    const some = traders.slice(from, from + ASKED_AT_ONCE);
    found.push(...(await Promise.all(some.map((trader) => chain.delegateOf(trader).catch(() => 'unknown' as const)))));
  }
  return found;
}
