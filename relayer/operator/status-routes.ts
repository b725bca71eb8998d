import { z } from 'zod';
import { formatEther } from 'viem/utils';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { AlertSettings } from '../../core/config/operator.js';
import { dayOf, runwayDays, type Burn, type CostGroup, type Costs, type LaneOwner, type SpentToday } from '../../core/ports/stores/gas.js';
import { operatorRoute } from './operator-route.js';
import type { ChainSlug } from '../../core/chains/chains.js';
import type { Address } from '../../core/types.js';
import type { DailyBudgetSetting } from '../../core/config/relayer.js';
import type { LaneHealth } from '../../core/ports/stores/relay.js';
import { GatewayError } from '../../core/errors.js';

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

/** A relayer wallet as shown to its operator. */
interface WalletFigures {
  readonly chain: ChainSlug;
  readonly address: Address;
  /** Wei; null while no node answers. */
  readonly balance: bigint | null;
  readonly burn: Burn;
  readonly runwayDays: number | null;
  readonly budget: WalletBudget;
  readonly lane: LaneHealth | null;
  readonly owner: LaneOwner | null;
  readonly openByState: Readonly<Record<string, number>>;
  readonly oldestOpenMs: number | null;
  readonly traders: number;
}

/** What a wallet may spend and has spent in this UTC day. */
interface WalletBudget {
  readonly setting: 'fixed' | 'half' | 'unlimited';
  /** Wei; null: unlimited, or half of a balance that no lane has read yet today. */
  readonly budgetWei: bigint | null;
  readonly spentWei: bigint;
}

function budgetOf(setting: DailyBudgetSetting, { spentWei, highestBalanceWei }: SpentToday): WalletBudget {
  if (typeof setting === 'bigint') return { setting: 'fixed', budgetWei: setting, spentWei };
  const isHalf = setting === 'half' && highestBalanceWei !== null;
  return { setting, budgetWei: isHalf ? highestBalanceWei / 2n : null, spentWei };
}

/** All wallets of a chain, whichever replica runs their lanes. */
async function readWallets({ store, clock }: Gateway, { definition: { slug }, relayer, chain }: Venue): Promise<WalletFigures[]> {
  if (relayer === null) return [];
  const [lanes, jobs, traders] = await Promise.all([relayer.lanes(), store.gas.openJobs(slug), store.gas.assigned(slug)]);
  return Promise.all(
    relayer.wallets().map(async (address): Promise<WalletFigures> => {
      const [balance, burn, spent, owner] = await Promise.all([
        chain.nativeBalance(address).catch(() => null),
        store.gas.burn(slug, address, clock.now()),
        store.gas.spentToday(slug, address, clock.now()),
        store.gas.laneOwner(slug, address),
      ]);
      const own = jobs.filter(({ wallet }) => wallet === address);
      return {
        chain: slug,
        address,
        balance,
        burn,
        budget: budgetOf(relayer.dailyBudget(), spent),
        owner,
        runwayDays: balance === null ? null : runwayDays(balance, burn),
        lane: lanes.find(({ wallet }) => wallet === address) ?? null,
        openByState: Object.fromEntries(own.map(({ state, count }) => [state, count])),
        oldestOpenMs: own.length === 0 ? null : clock.now() - Math.min(...own.map(({ oldestAt }) => oldestAt)),
        traders: traders.get(address) ?? 0,
      };
    }),
  );
}

const RECOVERED_SHOWN = 100;
const DELIVERIES_SHOWN = 200;
const DELIVERED_SHOWN = 50;

const DeliveryId = z
  .string()
  .regex(/^[1-9]\d{0,17}$/, 'must be the id of a delivery')
  .transform(BigInt);

/** Open and past alerts, and their messages to the alert receiver. */
export const ALERT_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/alerts',
    async handle({ gateway: { store }, alerting }) {
      const [open, recovered, undelivered, delivered] = await Promise.all([
        store.alerts.open(),
        store.alerts.recovered(RECOVERED_SHOWN),
        store.alerts.undelivered(DELIVERIES_SHOWN),
        store.alerts.lastDelivered(DELIVERED_SHOWN),
      ]);
      return {
        /** False without a webhook: alerts are stored and shown only. */
        arePosted: alerting.webhook !== null,
        open,
        recovered,
        delivered,
        pending: undelivered.filter(({ state }) => state === 'pending'),
        dead: undelivered.filter(({ state }) => state === 'dead'),
      };
    },
  }),
  operatorRoute({
    method: 'POST',
    path: '/alerts/:id/retry',
    params: z.object({ id: DeliveryId }),
    async handle({ gateway: { store, clock }, params: { id } }) {
      const delivery = await store.alerts.retry(id, clock.now());
      if (delivery === null) throw new GatewayError('UNSUPPORTED', { reason: `No delivery ${id} has been given up.` });
      return delivery;
    },
  }),
];
