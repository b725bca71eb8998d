import type { Gateway, Venue } from '../gateway.js';
import { familyOf, type MetricFamily, type MetricValue } from './metrics.js';
import type { LaneFigures } from '../ports/stores/alerts.js';
import type { Address } from '../types.js';
import { runwayDays } from '../ports/stores/gas.js';

const WEI = 1e18;
/** Balances change slowly, and each costs a node call and a query. */
const WALLETS_KEPT_MS = 15_000;

interface Wallet {
  readonly chain: string;
  readonly wallet: Address;
  /** Null while no node answers. */
  readonly account: { readonly nonce: number; readonly balance: bigint } | null;
  readonly runwayDays: number | null;
}

/** Relayer metrics: the same on every replica, because they come from the database and the chain. */
export function createRelayFamilies(gateway: Gateway, venues: readonly Venue[]): () => Promise<MetricFamily[]> {
  let kept: { readonly at: number; readonly wallets: Promise<Wallet[]> } | null = null;
  const walletsNow = (): Promise<Wallet[]> => {
    const now = gateway.clock.now();
    if (kept !== null && now - kept.at < WALLETS_KEPT_MS) return kept.wallets;
    const wallets = Promise.all(venues.map((venue) => readWallets(gateway, venue))).then((found) => found.flat());
    wallets.catch(() => (kept = null));
    kept = { at: now, wallets };
    return wallets;
  };
  return async () => {
    const [wallets, lanes] = await Promise.all([walletsNow(), gateway.store.metrics.lanes()]);
    return [...walletFamilies(wallets), ...laneFamilies(wallets, lanes, gateway.clock.now()), ...(await ledgerFamilies(gateway))];
  };
}

async function readWallets({ store, clock }: Gateway, { definition: { slug }, relayer, chain }: Venue): Promise<Wallet[]> {
  return Promise.all(
    (relayer?.wallets() ?? []).map(async (wallet) => {
      const [account, burn] = await Promise.all([chain.relay.account(wallet).catch(() => null), store.gas.burn(slug, wallet, clock.now())]);
      return { chain: slug, wallet, account, runwayDays: account && runwayDays(account.balance, burn) };
    }),
  );
}

const walletFamilies = (wallets: readonly Wallet[]): MetricFamily[] => [
  familyOf(
    'balance',
    ofEach(wallets, ({ account }) => account && Number(account.balance) / WEI),
  ),
  familyOf(
    'runway',
    ofEach(wallets, (wallet) => wallet.runwayDays),
  ),
];

function laneFamilies(wallets: readonly Wallet[], lanes: readonly LaneFigures[], now: number): MetricFamily[] {
  const laneOf = ({ chain, wallet }: Wallet): LaneFigures =>
    lanes.find((lane) => lane.chain === chain && lane.wallet === wallet) ?? { ...NEVER_USED, chain, wallet };
  const each = (read: (lane: LaneFigures, wallet: Wallet) => number | null): MetricValue[] =>
    ofEach(wallets, (wallet) => read(laneOf(wallet), wallet));
  return [
    familyOf(
      'blocked',
      each(({ isBlocked }) => (isBlocked ? 1 : 0)),
    ),
    familyOf(
      'oldestOpen',
      each(({ oldestOpenAt }) => (oldestOpenAt === null ? 0 : (now - oldestOpenAt) / 1_000)),
    ),
    familyOf('queueDepth', each(queued)),
    familyOf('inFlight', each(inFlight)),
    familyOf(
      'nonceGap',
      each((lane, { account }) => gapOf(lane, account?.nonce ?? null)),
    ),
    familyOf(
      'openJobs',
      wallets.flatMap((wallet) =>
        laneOf(wallet).open.map(({ state, count }) => ({ value: count, labels: { chain: wallet.chain, wallet: wallet.wallet, state } })),
      ),
    ),
  ];
}

const NEVER_USED = { nextNonce: null, isBlocked: false, open: [], oldestOpenAt: null } as const;
const sum = (open: LaneFigures['open']): number => open.reduce((total, { count }) => total + count, 0);
const queued = ({ open }: LaneFigures): number => sum(open.filter(({ state }) => state === 'queued'));
const inFlight = ({ open }: LaneFigures): number => sum(open.filter(({ state }) => state !== 'queued'));

/** Transactions mined since the chain was read make the gap look larger for some seconds. */
const gapOf = (lane: LaneFigures, chainNonce: number | null): number | null =>
  lane.nextNonce === null || chainNonce === null ? null : Math.max(0, lane.nextNonce - chainNonce - inFlight(lane));

const ofEach = (wallets: readonly Wallet[], read: (wallet: Wallet) => number | null): MetricValue[] =>
  wallets.flatMap((own) => {
    const value = read(own);
    return value === null ? [] : [{ value, labels: { chain: own.chain, wallet: own.wallet } }];
  });

/** Gauges, although they grow: a reorganisation can decrease them, and a decreasing counter would be read as a restart. */
async function ledgerFamilies({ store }: Gateway): Promise<MetricFamily[]> {
  const [totals, refusals] = await Promise.all([store.gas.totals(), store.gas.refusals()]);
  const labelled = totals.map(({ chain, wallet, action, outcome, ...row }) => ({ ...row, labels: { chain, wallet, action, outcome } }));
  return [
    familyOf(
      'cost',
      labelled.map(({ costWei, labels }) => ({ value: Number(costWei) / WEI, labels })),
    ),
    familyOf(
      'transactions',
      labelled.map(({ transactions, labels }) => ({ value: transactions, labels })),
    ),
    familyOf(
      'refusals',
      refusals.map(({ count, chain, reason }) => ({ value: count, labels: { chain, reason } })),
    ),
  ];
}
