import { Transaction } from 'ethers';
import type { Evidence, Invariant } from './evidence.js';
import type { Swap } from './loss-watch.js';

/** What must hold although the database lost commits. */

/** Losses of which every process that could remember something took part in the review; of the others the chain alone may tell. */
const remembered = ({ faults }: Evidence): Swap[] => (faults.losses()?.swaps ?? []).filter(({ isRemembered }) => isRemembered);
const isLoss = ({ kind }: Swap): boolean => kind !== 'same';

const IDS = `
  select 'order ' || id as name from orders union all select 'oid ' || oid from exchange_orders union all
  select 'job ' || id from relay_jobs union all select 'action ' || id from relay_actions union all
  select 'cursor ' || trader || ' ' || cursor from journal`;
/** A nonce of the native API may be stored again: the request is refused after that. */
const SIGNED = `select 'signed ' || signer || ' ' || nonce as name from relay_actions`;

async function givenTwice(evidence: Evidence, sql: string): Promise<string[]> {
  const lost = new Set(remembered(evidence).flatMap((swap) => [...swap.lost]));
  if (lost.size === 0) return [];
  const rows = await evidence.world.gate.read<{ name: string }>(sql);
  return rows.filter(({ name }) => lost.has(name)).map(({ name }) => name);
}

/** No order, job, action or journal entry has the number of one that was lost, and no two requests were answered with one order. */
export const noIdIsGivenTwice: Invariant = async (evidence) => {
  const complaints = (await givenTwice(evidence, IDS)).map((name) => `${name} was given, lost, and given again`);
  const losses = (evidence.faults.losses()?.swaps ?? []).filter(isLoss);
  if (losses.length === 0 || losses.some(({ isRemembered }) => !isRemembered)) return complaints;
  const owners = new Map<string, string>();
  for (const { api, id, answers } of evidence.bots.record.requests)
    for (const { orderId } of answers) {
      if (orderId === null) continue;
      const key = `${api} ${orderId}`;
      const owner = owners.get(key) ?? id;
      owners.set(key, owner);
      if (owner !== id) complaints.push(`order ${orderId} was answered to ${owner} and to ${id} of the ${api} API`);
    }
  return complaints;
};

/** A body that was accepted before the loss, and sent again after it, makes nothing new. */
export const noRequestTwice: Invariant = async (evidence) => [
  ...(await givenTwice(evidence, SIGNED)).map((name) => `${name} was taken, lost, and taken again`),
  ...(remembered(evidence).some(isLoss) ? evidence.bots.record.replays.complaints : []),
];

/** The relayer signs one call with a nonce; in its place it may use the nonce up without a call. */
export const noNonceForTwoCalls: Invariant = ({ faults, bots }) => {
  const swaps = (faults.losses()?.swaps ?? []).filter(isLoss);
  if (swaps.some(({ isRemembered }) => !isRemembered)) return [];
  const wallets = new Set<string>(bots.relayerWallets.map(({ wallet }) => wallet));
  const calls = new Map<string, string>();
  return [...faults.sent()].flatMap((raw) => {
    const { from, nonce, data, hash } = Transaction.from(raw);
    if (from === null || !wallets.has(from.toLowerCase()) || data === '0x') return [];
    const key = `${from} ${nonce}`;
    const before = calls.get(key) ?? data;
    calls.set(key, before);
    return before === data ? [] : [`nonce ${nonce} of ${from} was used for two calls, the second in ${hash}`];
  });
};

/** Nothing is signed until it is known whether commits were lost and, if so, the lane was compared with the chain. */
export const nothingSignedInDoubt: Invariant = ({ faults }) => faults.losses()?.early() ?? [];

/** Lost with one of these, a replica remembers it. */
const REMEMBERED = /^(?:job|action|cursor) /;
const LOSSES = `select id::text, (select count(*)::integer from alerts where kind = 'commits-lost') as alerts from commit_losses`;
const ANSWERED = `select id::text as id from orders union all select oid::text from exchange_orders`;

/** What was lost is reported: nothing that a client was answered is missing without a word. */
export const lossesAreReported: Invariant = async (evidence) => {
  const swaps = remembered(evidence);
  const rows = await evidence.world.gate.read<{ id: string; alerts: number }>(LOSSES);
  const newest = BigInt(rows.at(-1)?.id ?? 0);
  const complaints = swaps
    .filter(({ lost, losses }) => [...lost].some((name) => REMEMBERED.test(name)) && newest <= losses)
    .map(({ at, lost }) => `what was lost at ${at} was not noticed: ${[...lost].slice(0, 5).join(', ')}`);
  if (rows.length > 0 && !rows.some(({ alerts }) => alerts > 0)) complaints.push('commits were lost, and no alert says so');
  if (rows.length > 0 || swaps.length < (evidence.faults.losses()?.swaps.length ?? 0)) return complaints;
  const known = new Set((await evidence.world.gate.read<{ id: string }>(ANSWERED)).map(({ id }) => id));
  const missing = evidence.bots.record.requests.flatMap(({ id, answers }) =>
    answers.flatMap(({ orderId }) =>
      orderId === null || known.has(orderId) ? [] : [`order ${orderId} of ${id} is gone, and no loss was noticed`],
    ),
  );
  return [...complaints, ...missing];
};

const ALARMS = `
  select 'the loss ' || id || ' was proven: ' || reason as text from commit_losses
  union all select 'an alert says: ' || message from alerts where kind = 'commits-lost'`;

/** Connections that are cut, and another server that has everything, are no loss, and are known to be none within seconds. */
export const switchoversAreNoLoss: Invariant = async ({ world, faults }) => {
  const losses = faults.losses();
  const pauses = losses?.pauses() ?? [];
  if ((losses?.swaps ?? []).some(isLoss)) return pauses;
  const alarms = await world.gate.read<{ text: string }>(ALARMS);
  const logged = world.logs.flatMap(({ name, log }) =>
    log.entries
      .filter(({ event }) => event === 'store.commits-lost' || event === 'relay.commits-lost')
      .map(({ event }) => `${name} logged ${event}`),
  );
  return [...alarms.map(({ text }) => text), ...logged, ...pauses];
};
