import { z } from 'zod';
import { GatewayError } from '../../core/errors.js';
import { venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import { adoptCommand, describeLoss } from '../../core/observability/lost-commits.js';
import { awaitsOperator } from '../../core/ports/stores/continuity.js';
import { operatorRoute, Wallet, type Place } from './operator-route.js';

const Where = z.strictObject({ chain: z.string().optional(), wallet: Wallet.optional() });

/** What waits for the operator: a loss of commits, and wallets that have traded and that the database does not know. */
export const ADOPTION_ROUTES = [
  operatorRoute({ method: 'GET', path: '/adoptions', handle: ({ gateway }) => describe(gateway) }),
  operatorRoute({
    method: 'POST',
    path: '/adoptions',
    body: Where.optional(),
    async handle({ gateway, body = {} }) {
      const wallets = await adoptWallets(gateway, body);
      // Who names a wallet means that wallet.
      const isLossAdopted = body.chain === undefined && body.wallet === undefined && (await adoptLoss(gateway));
      return { adopted: { loss: isLossAdopted, wallets }, ...describe(gateway) };
    },
  }),
];

async function adoptLoss({ store: { continuity }, clock, log }: Gateway): Promise<boolean> {
  const loss = continuity.lastLoss();
  if (loss === null || !awaitsOperator(loss)) return false;
  await continuity.adopt(loss.id, clock.now());
  log.warn('store.loss-adopted', { loss: loss.id, detectedAt: loss.detectedAt });
  return true;
}

async function adoptWallets(gateway: Gateway, where: Place): Promise<readonly { readonly chain: string; readonly wallet: string }[]> {
  const venues = where.chain === undefined ? [...gateway.venues.values()] : [venueOf(gateway, where.chain)];
  const waiting = venues.flatMap((venue) =>
    waitingOf(venue)
      .filter(({ wallet }) => where.wallet === undefined || wallet === where.wallet)
      .map((one) => ({ ...one, adoption: venue.adoption })),
  );
  if (where.wallet !== undefined && waiting.length === 0)
    throw new GatewayError('UNSUPPORTED', { reason: `${where.wallet} does not wait to be adopted.` });
  for (const { wallet, adoption } of waiting) await adoption?.adopt(wallet);
  return waiting.map(({ chain, wallet }) => ({ chain, wallet }));
}

const waitingOf = ({ definition: { slug }, adoption }: Venue) =>
  (adoption?.waiting() ?? []).map(({ wallet, reason }) => ({ chain: slug, wallet, reason, command: adoptCommand(slug, wallet) }));

function describe({ store: { continuity }, venues }: Gateway) {
  const loss = continuity.lastLoss();
  return {
    /** Why nothing is signed now; null otherwise. */
    doubt: continuity.doubt(),
    loss: loss && { ...loss, awaitsOperator: awaitsOperator(loss), text: describeLoss(loss) },
    wallets: [...venues.values()].flatMap(waitingOf),
    notes: continuity.notes(),
  };
}
