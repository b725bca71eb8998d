import { z } from 'zod';
import { isOutdated, openDoubts } from '../../core/domain/contract-doubt.js';
import { parseDecimal, toUnits } from '../../core/domain/decimal.js';
import { GatewayError } from '../../core/errors.js';
import { haltOfOpenings, venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import { refreshStanding } from '../../core/indexer/contract-standing.js';
import { settleUnread } from '../../core/indexer/settle-unread.js';
import type { Hex } from '../../core/types.js';
import { operatorRoute } from './operator-route.js';

const Where = z.strictObject({ chain: z.string().optional() });
const Acceptance = z.strictObject({ chain: z.string(), reason: z.string().trim().min(1).max(200).optional() });
const Statement = z.strictObject({
  chain: z.string(),
  txHash: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, 'must be the hash of a transaction')
    .transform((text) => text.toLowerCase() as Hex),
  as: z.enum(['filled', 'rejected'], 'must be one of filled, rejected'),
  /** Decimal, in the market's quote currency. */
  price: z.string().optional(),
  tradeIndex: z.int().min(0).optional(),
});

/** What the contract changed or logged beyond what this release knows, and what the operator says of it. */
export const CONTRACT_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/contract',
    query: Where,
    handle: async ({ gateway, query: { chain } }) => ({
      chains: await Promise.all(
        (chain === undefined ? [...gateway.venues.values()] : [venueOf(gateway, chain)]).map((venue) => describe(gateway, venue)),
      ),
    }),
  }),
  operatorRoute({
    method: 'POST',
    path: '/contract/accept',
    body: Acceptance,
    async handle({ gateway, body: { chain, reason = null } }) {
      const venue = venueOf(gateway, chain);
      await refreshStanding(gateway, venue);
      const { contract, checked } = venue.state;
      const nothing = new GatewayError('UNSUPPORTED', { reason: `No checked change of the contracts on ${chain} waits to be accepted.` });
      const { cut: block = null, cutHash: hash = null, findings = [] } = checked ?? {};
      if (contract === null || block === null || hash === null || isOutdated(contract, checked)) throw nothing;
      // A reorganisation may have taken the change back meanwhile.
      if (!(await gateway.store.contract.accept(venue.definition.slug, { block, hash }, { findings, reason }, gateway.clock.now())))
        throw nothing;
      gateway.log.warn('chain.change-accepted', { chain, block, findings, reason });
      await refreshStanding(gateway, venue);
      return { chains: [await describe(gateway, venue)] };
    },
  }),
  operatorRoute({
    method: 'POST',
    path: '/contract/settle',
    body: Statement,
    async handle({ gateway, body: { chain, txHash, as, price, tradeIndex } }) {
      const venue = venueOf(gateway, chain);
      await settleUnread(gateway, venue, { txHash, as, tradeIndex, price: price === undefined ? undefined : priceUnits(price) });
      return { chains: [await describe(gateway, venue)] };
    },
  }),
];

const PRICE_DECIMALS = 10;

function priceUnits(text: string): bigint {
  if (!/^\d{1,20}(?:\.\d{1,10})?$/.test(text))
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'price', message: 'must be a price with at most 10 decimals' }] });
  return toUnits(parseDecimal(text), PRICE_DECIMALS, 'down');
}

async function describe({ store }: Gateway, venue: Venue) {
  const { slug } = venue.definition;
  const { contract, checked } = venue.state;
  const [kept, orders] = await Promise.all([store.contract.unread(slug, 100), store.contract.unexplained(slug, 1_000)]);
  return {
    chain: slug,
    /** Why no position is opened; null while positions are. */
    halt: haltOfOpenings(venue),
    lastCut: contract?.cut ?? null,
    checkedAt: checked?.block ?? null,
    findings: checked?.findings ?? [],
    openFindings: contract === null ? [] : openDoubts(contract, checked),
    accepted: contract?.accepted ?? null,
    unread: kept.map(({ place: { txHash, blockNumber }, settled }) => ({
      txHash,
      block: blockNumber,
      settled,
      orders: orders.filter((order) => order.txHash === txHash).map(({ id, trader }) => ({ id, trader })),
    })),
  };
}
