import { formatEther } from 'viem/utils';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { AlertSettings } from '../../core/config/operator.js';
import { dayOf, type CostGroup, type Costs } from '../../core/ports/stores/gas.js';
import { readWallets, type WalletFigures } from './wallet-figures.js';
import { operatorRoute } from './operator-route.js';

const TOP_TRADERS = 10;
const GROUPS_SHOWN = 50;

/** The relayer's state by chain and wallet. */
export const STATUS_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/status',
    async handle({ gateway, alerting }) {
      const [chains, alerts] = await Promise.all([
        Promise.all([...gateway.venues.values()].map((venue) => describeChain(gateway, venue, alerting))),
        gateway.store.alerts.open(),
      ]);
      return { at: gateway.clock.now(), version: gateway.version, mode: gateway.mode, chains, alerts };
    },
  }),
];

async function describeChain(gateway: Gateway, venue: Venue, { lowBalance, lowRunwayDays }: AlertSettings): Promise<object> {
  const { slug, name, testnet, nativeSymbol } = venue.definition;
  const thresholdWei = lowBalance.own.get(slug) ?? lowBalance.usual;
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
    name,
    isTestnet: testnet,
    coin: nativeSymbol,
    /** Below either of them the alert `low-balance` is raised; 0 days: never. */
    threshold: { balanceWei: thresholdWei, balance: formatEther(thresholdWei), runwayDays: lowRunwayDays },
    nodes: venue.chain.endpoints().map(({ host, state }) => ({ host, state })),
    wallets: wallets.map((wallet) => describeWallet(wallet, venue)),
    today: {
      total: { ...byAction.total, cost: formatEther(byAction.total.costWei) },
      byAction: priced(byAction),
      byOutcome: priced(byOutcome),
      topTraders: priced(byTrader)
        .filter(({ key }) => key !== null)
        .slice(0, TOP_TRADERS)
        .map(({ key, ...row }) => ({ trader: key, ...row })),
    },
  };
}

const priced = ({ rows }: Costs) => rows.map((row) => ({ ...row, cost: formatEther(row.costWei) }));

/** Amounts in wei, and in the chain's own coin for display. */
const describeWallet = (
  { address, balance, burn, budget, runwayDays, lane, owner, openByState, oldestOpenMs, traders }: WalletFigures,
  venue: Venue,
) => ({
  address,
  balanceWei: balance,
  balance: balance === null ? null : formatEther(balance),
  burn: {
    dayWei: burn.dayWei,
    weekWei: burn.weekWei,
    day: formatEther(burn.dayWei),
    week: formatEther(burn.weekWei),
  },
  runwayDays,
  budget: {
    ...budget,
    budget: budget.budgetWei === null ? null : formatEther(budget.budgetWei),
    spent: formatEther(budget.spentWei),
  },
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
