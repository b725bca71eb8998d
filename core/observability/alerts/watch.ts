import { formatEther } from 'viem/utils';
import type { Gateway, Venue } from '../../gateway.js';
import type { Address, Cancel } from '../../types.js';
import type { Alert, AlertKind } from '../../ports/stores/alerts.js';
import type { Alerts } from './alerts.js';
import { describeLoss, isLossShown } from '../lost-commits.js';
import { openDoubts } from '../../domain/contract-doubt.js';
import { runwayDays } from '../../ports/stores/gas.js';
import type { AlertSettings } from '../../config/operator.js';
import type { LaneHealth } from '../../ports/stores/relay.js';

const CHECK_MS = 5_000;
/** Duration of the leader lease. */
const LEAD_MS = 20_000;
/** Without progress for this long, a lane is jammed. */
const JAMMED_MS = 60_000;
const NODES_DOWN_MS = 30_000;
/** Hysteresis: a balance just above the threshold would fall below it with the next transaction. */
const enough = (threshold: bigint): bigint => (threshold * 11n) / 10n;

interface Watch {
  readonly gateway: Gateway;
  readonly settings: AlertSettings;
  readonly alerts: Alerts;
  /** Since when each value has been unchanged, by name. */
  readonly seen: Map<string, { readonly value: string; readonly at: number }>;
}

interface Finding {
  readonly kind: AlertKind;
  readonly subject: string;
  readonly isWrong: boolean;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly repeats?: boolean;
}

/** Checks wallets, lanes and nodes on one replica; another takes over when it dies. */
export function watchAlerts(gateway: Gateway, settings: AlertSettings): Cancel {
  const { store, alerts, clock, log } = gateway;
  const holder = Buffer.from(gateway.randomBytes(8)).toString('hex');
  const watch: Watch = { gateway, settings, alerts, seen: new Map() };
  let isBusy = false;
  const turn = async (): Promise<void> => {
    const open = await store.alerts.lead(holder, clock.now(), clock.now() + LEAD_MS);
    if (open === null) watch.seen.clear();
    else await checkAll(watch, open);
  };
  return clock.every(CHECK_MS, () => {
    if (isBusy) return;
    isBusy = true;
    turn()
      .catch((error: unknown) => log.warn('alerts.check-failed', { error }))
      .finally(() => (isBusy = false));
  });
}

async function checkAll(watch: Watch, open: readonly Alert[]): Promise<void> {
  const { gateway, alerts } = watch;
  const over = open.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= gateway.clock.now());
  await Promise.all(over.map((alert) => alerts.recoverAlert(alert, `${alert.message} Its time is over.`)));
  await checkContinuity(watch, open);
  await Promise.all([...gateway.venues.values()].map((venue) => checkVenue(watch, venue, open)));
}

/** Each loss is an alert of its own: a short one for a day, a long one until it is adopted. */
async function checkContinuity({ gateway: { store, clock }, alerts }: Watch, open: readonly Alert[]): Promise<void> {
  const loss = store.continuity.lastLoss();
  if (loss === null) return;
  const [kind, chain, subject] = ['commits-lost' as const, 'all', `loss ${loss.id}`];
  const message = describeLoss(loss);
  const isShown = isLossShown(loss, clock.now());
  const { detectedAt, lostFrom, reason } = loss;
  if (isShown) await alerts.raiseAlert({ kind, chain, subject, message, details: { detectedAt, lostFrom, reason } });
  const over = open.filter((alert) => alert.kind === kind && !(isShown && alert.subject === subject));
  for (const alert of over) await alerts.recoverAlert(alert, alert.subject === subject ? message : `${alert.message} Another followed.`);
}

/** A check that fails neither raises nor recovers an alert. */
async function checkVenue(watch: Watch, venue: Venue, open: readonly Alert[]): Promise<void> {
  const isOpen = (kind: AlertKind, subject: string): boolean =>
    open.some((alert) => alert.kind === kind && alert.subject === subject && alert.chain === venue.definition.slug);
  const lanes = (await venue.relayer?.lanes()) ?? [];
  const balances = venue.relayer?.wallets().map((wallet) => checkBalance(watch, venue, wallet, isOpen('low-balance', wallet))) ?? [];
  const findings = [
    checkNodes(watch, venue),
    ...checkContract(venue),
    ...lanes.map((lane) => checkLane(watch, venue, lane)),
    ...(await Promise.allSettled(balances)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
  ];
  for (const finding of [...findings, ...left(venue, open)]) {
    const { isWrong, message, ...rest } = finding;
    const name = { kind: rest.kind, subject: rest.subject, chain: venue.definition.slug };
    if (isWrong) await watch.alerts.raiseAlert({ ...rest, chain: name.chain, message });
    else if (isOpen(rest.kind, rest.subject)) await watch.alerts.recoverAlert(name, message);
  }
}

const ABOUT_WALLETS: ReadonlySet<AlertKind> = new Set(['low-balance', 'lane-jammed', 'budget-reached', 'key-trouble']);

/** Recovers alerts of wallets that were removed from the settings. */
function left({ definition, relayer }: Venue, open: readonly Alert[]): Finding[] {
  const wallets: readonly string[] = relayer?.wallets() ?? [];
  return open
    .filter(({ chain, kind, subject }) => chain === definition.slug && ABOUT_WALLETS.has(kind) && !wallets.includes(subject))
    .map(({ kind, subject }) => ({
      kind,
      subject,
      isWrong: false,
      message: `${subject} is no wallet of the relayer any more.`,
      details: {},
    }));
}

async function checkBalance({ gateway, settings }: Watch, venue: Venue, wallet: Address, isOpen: boolean): Promise<Finding> {
  const { slug } = venue.definition;
  const [balance, burn] = await Promise.all([venue.chain.nativeBalance(wallet), gateway.store.gas.burn(slug, wallet, gateway.clock.now())]);
  const days = runwayDays(balance, burn);
  const threshold = settings.lowBalance.own.get(slug) ?? settings.lowBalance.usual;
  const [leastBalance, leastDays] = isOpen ? [enough(threshold), settings.lowRunwayDays * 1.1] : [threshold, settings.lowRunwayDays];
  const isWrong = balance < leastBalance || (days !== null && days < leastDays);
  const lasts = days === null ? '' : `, which lasts for ${days} days`;
  return {
    kind: 'low-balance',
    subject: wallet,
    isWrong,
    repeats: true,
    message: `The relayer wallet ${wallet} on ${slug} holds ${formatEther(balance)}${lasts}.`,
    details: {
      balanceWei: balance.toString(),
      thresholdWei: threshold.toString(),
      burnDayWei: burn.dayWei.toString(),
      burnWeekWei: burn.weekWei.toString(),
      runwayDays: days,
      lowRunwayDays: settings.lowRunwayDays,
    },
  };
}

/** For how long the value has been unchanged. */
function lasting({ gateway, seen }: Watch, name: string, value: string): number {
  const now = gateway.clock.now();
  const known = seen.get(name);
  if (known?.value === value) return now - known.at;
  seen.set(name, { value, at: now });
  return 0;
}

function checkLane(watch: Watch, { definition, clock }: Venue, lane: LaneHealth): Finding {
  const { wallet, openJobs, oldestOpenAt, nextNonce, reason, since } = lane;
  const same = lasting(watch, `${definition.slug} ${wallet}`, `${oldestOpenAt} ${openJobs > 0}`);
  const isStuck = openJobs > 0 && same >= JAMMED_MS;
  const isBlocked = since !== null && clock.now() - since >= JAMMED_MS;
  const isWrong = isStuck || isBlocked;
  return {
    kind: 'lane-jammed',
    subject: wallet,
    isWrong,
    message: isWrong
      ? `The lane of ${wallet} on ${definition.slug} makes no progress: ${reason ?? 'its oldest transaction is not mined'}.`
      : `The lane of ${wallet} on ${definition.slug} moves again.`,
    details: { openJobs, oldestOpenAt, nextNonce, reason },
  };
}

function checkNodes(watch: Watch, { definition, chain, state }: Venue): Finding {
  const endpoints = chain.endpoints();
  const isDown = state.fault !== null || endpoints.every((endpoint) => endpoint.state !== 'ok');
  const isWrong = lasting(watch, `${definition.slug} nodes`, String(isDown)) >= NODES_DOWN_MS && isDown;
  return {
    kind: 'rpc-trouble',
    subject: 'nodes',
    isWrong,
    message: isDown ? `No node of ${definition.slug} answers.` : `A node of ${definition.slug} answers.`,
    details: { endpoints: endpoints.map(({ host, state: health, failures }) => ({ host, state: health, failures })) },
  };
}

/** What the contract logged or changed that stops openings; the moment in which a change is being checked is none. */
function checkContract({ definition: { slug }, state: { contract, checked } }: Venue): Finding[] {
  if (contract === null) return [];
  const { unread, cut } = contract;
  const doubts = openDoubts(contract, checked);
  const [hashes, kind] = [unread.map(({ txHash }) => txHash), 'contract-changed' as const];
  const logs: Finding = {
    kind,
    subject: 'logs',
    isWrong: unread.length > 0,
    message:
      unread.length > 0
        ? `The contracts on ${slug} logged something that this release cannot read (${hashes[0] ?? ''}): orders stay pending, and no position is opened until a release that can read it runs, or they are settled.`
        : `All logs of the contracts on ${slug} are read or settled.`,
    details: { transactions: hashes },
  };
  const facets: Finding = {
    kind,
    subject: 'facets',
    isWrong: doubts.length > 0,
    message:
      doubts.length > 0
        ? `The contracts on ${slug} were changed in block ${cut ?? 0n}, and ${doubts[0] ?? ''}: no position is opened until you accept it.`
        : `The contracts on ${slug} are as expected, or accepted.`,
    details: { block: cut?.toString() ?? null, findings: doubts },
  };
  return [logs, facets];
}

/** The balance of an hour is thus at most this old when the hour ends. */
const RECORD_MS = 300_000;

/** Records the balance of every relayer wallet for the operator's chart. Every replica does: the latest reading of an hour is kept. */
export function recordBalances(gateway: Gateway): Cancel {
  const recordAll = (): void => {
    for (const venue of gateway.venues.values()) for (const wallet of venue.relayer?.wallets() ?? []) void record(gateway, venue, wallet);
  };
  recordAll();
  return gateway.clock.every(RECORD_MS, recordAll);
}

/** An hour without an answer of a node stays without a balance. */
async function record({ store, clock, log, stopping }: Gateway, { definition: { slug }, chain }: Venue, wallet: Address): Promise<void> {
  try {
    const balanceWei = await chain.nativeBalance(wallet);
    await store.gas.recordBalance(slug, wallet, { at: clock.now(), balanceWei });
  } catch (error) {
    if (!stopping.aborted) log.warn('relay.balance-not-recorded', { chain: slug, wallet, error });
  }
}
