import { z } from 'zod';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { SWITCH_MODES, type SwitchMode } from '../../core/ports/stores/switches.js';
import { operatorRoute } from './operator-route.js';
import { chosenVenues, Wallet, type Place } from './relayed-venue.js';

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
