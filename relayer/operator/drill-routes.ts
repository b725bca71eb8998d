import { z } from 'zod';
import type { ChainSlug } from '../../core/chains/chains.js';
import { GatewayError } from '../../core/errors.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { isOver, type RelayJob } from '../../core/ports/stores/relay.js';
import { operatorRoute } from './operator-route.js';
import { relayedVenue } from './relayed-venue.js';

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
