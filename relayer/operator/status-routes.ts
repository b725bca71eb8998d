import type { Gateway, Venue } from '../../core/gateway.js';
import { dayOf, type CostGroup, type Costs } from '../../core/ports/stores/gas.js';
import { formatNative } from '../../core/domain/native-amount.js';
import { readWallets, type WalletFigures } from './wallet-figures.js';
import { operatorRoute } from './operator-route.js';

const TOP_TRADERS = 10;
const GROUPS_SHOWN = 50;

/** The relayer's state by chain and wallet. */
export const STATUS_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/status',
    async handle({ gateway }) {
      const [chains, alerts] = await Promise.all([
        Promise.all([...gateway.venues.values()].map((venue) => describeChain(gateway, venue))),
        gateway.store.alerts.open(),
      ]);
      return { at: gateway.clock.now(), version: gateway.version, chains, alerts };
    },
  }),
];

async function describeChain(gateway: Gateway, venue: Venue): Promise<object> {
  const { slug } = venue.definition;
  const today = dayOf(gateway.clock.now());
  const spent = (by: CostGroup, limit: number): Promise<Costs> =>
    gateway.store.gas.costs({ chain: slug, by, from: today, to: today, limit });
  const [wallets, byAction, byOutcome, byTrader] = await Promise.all([
    readWallets(gateway, venue),
    spent('action', GROUPS_SHOWN),
    spent('outcome', GROUPS_SHOWN),
    // One more, because costs without a trader are a row of their own.
    spent('trader', TOP_TRADERS + 1),
  ]);
  return {
    chain: slug,
    nodes: venue.chain.endpoints().map(({ host, state }) => ({ host, state })),
    wallets: wallets.map((wallet) => describeWallet(wallet, venue)),
    today: {
      total: { ...byAction.total, cost: formatNative(byAction.total.costWei) },
      byAction: priced(byAction),
      byOutcome: priced(byOutcome),
      topTraders: priced(byTrader)
        .filter(({ key }) => key !== null)
        .slice(0, TOP_TRADERS)
        .map(({ key, ...row }) => ({ trader: key, ...row })),
    },
  };
}

const priced = ({ rows }: Costs) => rows.map((row) => ({ ...row, cost: formatNative(row.costWei) }));

/** Amounts in wei, and in the chain's own coin for display. */
const describeWallet = (
  { address, balance, burn, runwayDays, lane, owner, openByState, oldestOpenMs, traders }: WalletFigures,
  venue: Venue,
) => ({
  address,
  balanceWei: balance,
  balance: balance === null ? null : formatNative(balance),
  burn: {
    dayWei: burn.dayWei,
    weekWei: burn.weekWei,
    day: formatNative(burn.dayWei),
    week: formatNative(burn.weekWei),
  },
  runwayDays,
  traders,
  /** The switch set by the operator. */
  switch: venue.relayer?.walletMode(address) ?? null,
  lane: {
    owner,
    state: lane?.state ?? 'ok',
    since: lane?.since ?? null,
    reason: lane?.reason ?? null,
    trouble: venue.relayer?.trouble(address) ?? null,
    nextNonce: lane?.nextNonce ?? null,
    openJobs: openByState,
    oldestOpenMs,
  },
});
