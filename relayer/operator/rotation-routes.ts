import { z } from 'zod';
import { delegationTx } from '../../core/access/delegation.js';
import { GatewayError } from '../../core/errors.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { operatorRoute, relayedVenue, requireOwn, Wallet } from './operator-route.js';

/** `after`: the `next` of the previous page. */
const Where = z.strictObject({ chain: z.string().optional(), wallet: Wallet, after: Wallet.optional() });
const Retire = z.strictObject({ chain: z.string().optional(), wallet: Wallet, isRetiring: z.boolean() });

/** Each trader costs a node request: more would delay the reply for too long. */
const PAGE = 1_000;
const ASKED_AT_ONCE = 20;

/** Moves traders from one wallet to another. Only traders can delegate, so a rotation lasts until the last of them did. */
export const ROTATION_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/rotation',
    query: Where,
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
