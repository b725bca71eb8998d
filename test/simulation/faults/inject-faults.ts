import { encodeFunctionData } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { Address, Hex } from '../../../core/types.js';
import { localSigner } from '../../../sandbox/accounts.js';
import { createSender } from '../../../sandbox/sender.js';
import type { Random } from '../../fuzz/random.js';
import { ask } from '../clients/http-client.js';
import type { TripFault } from '../database-gate.js';
import type { StatementReading } from '../statement-reading.js';
import type { Plan } from '../plan.js';
import { BOT_KEYS, SECOND_WALLET } from '../equipped-chain.js';
import { createChainFaults } from './chain-faults.js';
import { createContractFaults } from './contract-faults.js';
import { createLossFaults } from './loss-faults.js';
import { answerTwice } from './oracle-twice.js';
import { createSimulatedClock } from '../simulated-clock.js';
import type { World } from '../world.js';
import { watchContract, type ContractWatch } from '../invariants/contract-watch.js';
import { watchLosses, type LossWatch } from '../invariants/loss-watch.js';
import { changesContract, changesDatabase, replicaName, type Fault, type FaultKind } from './fault-table.js';
import { createNodeFaults } from './node-faults.js';

/** The faults of a run while it runs. */
export interface FaultState {
  /** Resolves when every fault has been taken back and every replica runs. */
  healed(): Promise<void>;
  /** Kinds that took effect. */
  applied(): readonly FaultKind[];
  /** Replicas that could not be started again, and the like. */
  failures(): readonly string[];
  /** `fault kind state`: each state in which a lane was when a fault began. */
  met(): readonly string[];
  /** Hashes of transactions with a key of the relayer that it did not send. */
  foreign(): ReadonlySet<string>;
  /** Epoch ms at which blocks were taken back for the last time; -1 if none were. */
  lastTakenBackAt(): number;
  /** Null in a run whose contract does not change. */
  contract(): ContractWatch | null;
  /** Null in a run whose database stays the same. */
  losses(): LossWatch | null;
  /** Signed transactions that have left a replica. */
  sent(): ReadonlySet<Hex>;
}

/** Takes effect at once; returns what takes it back. Null: it could not take effect. */
type Begin = (fault: Fault) => Undo | null | Promise<Undo | null>;
type Undo = () => unknown;

const USUAL_BASE_FEE_GWEI = 0.1;
const CUT_EVERY_MS = 150;
const LOOK_AGAIN_MS = 500;
const START_PRICE = 60_000;
const SETTLED_BEFORE = /waits to be settled/;
const SETTLE_MS = 40_000;
/** Kinds that keep a replica from the database, or its clock from going on. */
const DISTURBS = /^database-|^replica-|^clock-/;
/** Milliseconds until the operator looks at what was lost. */
const OPERATOR_LOOKS_MS = [2_000, 15_000] as const;

export function injectFaults(
  world: World,
  plan: Plan,
  { random, wallets }: { readonly random: Random; readonly wallets: readonly Address[] },
): FaultState {
  const { scheduler, network, gate, venue, replicas } = world;
  const clock = createSimulatedClock(scheduler, 'world');
  const [chain] = venue.sandbox.chains;
  if (chain === undefined) throw new Error('the sandbox has no chain');
  const { controls, node } = chain;
  const { prices } = venue.sandbox.controls;
  const from = scheduler.now();
  const applied: FaultKind[] = [];
  const failures: string[] = [];
  const met: string[] = [];
  let takenBackAt = -1;
  const open = new Map<Fault, Undo>();
  const work = new Set<Promise<unknown>>();
  const nodeFaults = createNodeFaults({
    random,
    request: (method, params) => node.request(method, params),
    drop: (hash) => node.dropTransaction(hash as `0x${string}`),
    nameOf: ({ replica }) => replicaName(replica),
  });
  const watch = changesContract(plan.faults) ? watchContract(world) : null;
  const trips = new Set<Fault>();
  const isDisturbed = (): boolean => [...open.keys()].some(({ kind }) => DISTURBS.test(kind));
  const losses = changesDatabase(plan.faults) ? watchLosses({ world, sent: nodeFaults.sent, isDisturbed }) : null;
  gate.setFault((owner, statements) => {
    watch?.observe(owner, statements);
    return [...trips].reduce<TripFault>((fate, fault) => (fate === 'none' ? tripFate(fault, owner, statements) : fate), 'none');
  });

  function tripFate(fault: Fault, owner: string, statements: readonly StatementReading[]): TripFault {
    if (owner !== replicaName(fault.replica)) return 'none';
    if (fault.kind === 'database-slow') return { delayMs: fault.amount };
    if (fault.kind === 'database-cut-at-answer' && !statements.some(({ leadsTo }) => leadsTo === 'accepted' || leadsTo === 'unknown'))
      return 'none';
    if (!statements.some(({ belongsToWrite }) => belongsToWrite) || !random.chance(fault.amount / 100)) return 'none';
    if (fault.kind === 'database-serialisation') return 'serialisation';
    return fault.isHarsh ? 'cut-after' : 'cut-before';
  }

  const inNode: Begin = (fault) => {
    nodeFaults.begin(fault);
    return () => nodeFaults.end(fault);
  };
  const inTrips: Begin = (fault) => {
    trips.add(fault);
    return () => trips.delete(fault);
  };
  const oracle =
    (policy: (fault: Fault) => Parameters<typeof controls.setOraclePolicy>[1]): Begin =>
    (fault) => {
      controls.setOraclePolicy(null, policy(fault));
      return () => controls.resetOracle();
    };

  const track = (promise: Promise<unknown>): void => {
    const done = promise
      .catch((error: unknown) => void failures.push(error instanceof Error ? (error.stack ?? error.message) : String(error)))
      .finally(() => work.delete(done));
    work.add(done);
  };

  const onChain = createChainFaults({ chain, random, wallets, sent: nodeFaults.sent, track });

  const startAgain = (fault: Fault): void => track(world.start(replicaName(fault.replica)));

  async function operate(method: string, path: string, body?: unknown, allowed?: RegExp): Promise<void> {
    for (const { url } of [...replicas.values()].filter((replica) => replica.isAlive())) {
      const headers = {
        Authorization: `Bearer ${venue.operatorToken}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      };
      const answer = await ask(clock, {
        url: `${url}/relayer${path}`,
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (answer !== null && answer.status < 500) {
        if (answer.status >= 300 && allowed?.test(JSON.stringify(answer.body)) !== true)
          failures.push(`the operator was refused: ${JSON.stringify(answer)}`);
        return;
      }
    }
  }

  /** A trader follows the rotation. */
  async function delegateTo(delegate: Address): Promise<void> {
    const { trader } = random.pick(BOT_KEYS.facade);
    const data = encodeFunctionData({ abi: diamondAbi, functionName: 'setTradingDelegate', args: [delegate] });
    await createSender(node, controls.definition.chainId, localSigner(trader), 'modest').send({ to: controls.definition.diamond, data });
  }

  const contract = createContractFaults({
    world,
    clock,
    track,
    // What it settles may be settled or taken back by then.
    operate: (method, path, body) => operate(method, path, body, SETTLED_BEFORE),
  });
  venue.setNodeFault(watch === null ? nodeFaults.fault : watch.reading(contract.reading(nodeFaults.fault)));

  const database =
    losses === null ? null : createLossFaults({ world, clock, watch: losses, track, patience: () => random.int(...OPERATOR_LOOKS_MS) });

  let isRotating = false;

  const BEGIN: Record<FaultKind, Begin> = {
    'rpc-error': inNode,
    'rpc-silence': inNode,
    'rpc-stale-head': inNode,
    'rpc-wrong-count': inNode,
    'rpc-forgets': inNode,
    'rpc-answer-lost': inNode,
    'rpc-underpriced': inNode,
    'rpc-late-receipts': inNode,
    'rpc-invalid': inNode,
    async 'mining-stops'() {
      await controls.pauseMining(true);
      return () => controls.pauseMining(false);
    },
    async 'fee-spike'({ amount }) {
      await controls.setBaseFee(amount);
      return () => controls.setBaseFee(USUAL_BASE_FEE_GWEI);
    },
    async reorganisation({ amount, isHarsh }) {
      if (!(await isPossible(controls.reorg(amount, isHarsh)))) return null;
      takenBackAt = clock.now();
      return () => undefined;
    },
    async 'branch-changes'({ amount, isHarsh }) {
      if (!(await isPossible(onChain.changeBranch(amount, isHarsh)))) return null;
      takenBackAt = clock.now();
      return () => isHarsh && onChain.delegateAgain();
    },
    async 'wallet-used-elsewhere'({ isHarsh }) {
      await onChain.useElsewhere(isHarsh && wallets.length > 1 ? SECOND_WALLET : venue.sandbox.controls.accounts.relayer.privateKey);
      return () => undefined;
    },
    async 'trader-withdraws'() {
      await onChain.withdraw();
      return () => onChain.delegateAgain();
    },
    'oracle-silent': oracle(() => ({ mode: 'hold' })),
    'oracle-late': oracle(({ amount }) => ({ mode: 'auto', delayMs: amount })),
    'oracle-refuses': oracle(() => ({ mode: 'reject' })),
    'oracle-twice': () => answerTwice(world),
    'oracle-refuses-late'({ amount }) {
      controls.setOraclePolicy(null, { mode: 'hold' });
      const stop = clock.after(amount, () => controls.setOraclePolicy(null, { mode: 'reject' }));
      return () => {
        stop();
        controls.resetOracle();
      };
    },
    'requests-taken-back'() {
      controls.setOraclePolicy(null, { mode: 'hold' });
      const stop = onChain.takeBackRequests();
      return () => {
        stop();
        controls.resetOracle();
      };
    },
    'price-gap'({ amount }) {
      prices.jump(0, String(START_PRICE + (START_PRICE * amount) / 100));
      return () => undefined;
    },
    'feed-silent'() {
      prices.pauseFeed(true);
      return () => prices.pauseFeed(false);
    },
    async 'database-cut'({ replica, amount }) {
      let count = 0;
      for (let turn = 0; turn < amount; turn += 1)
        if (await gate.terminate(replicaName(replica), (found) => random.int(0, Math.max(0, found - 1)))) count += 1;
      return count === 0 ? null : () => undefined;
    },
    'database-cut-in-trip': inTrips,
    'database-cut-at-answer': inTrips,
    'database-serialisation': inTrips,
    'database-slow': inTrips,
    async 'database-failover'() {
      await gate.setDown(true);
      return () => gate.setDown(false);
    },
    'replica-killed'(fault) {
      const replica = replicas.get(replicaName(fault.replica));
      if (!replica?.isAlive() || replica.gateway() === null) return null;
      replica.kill(() => random.chance(0.5));
      return () => startAgain(fault);
    },
    'replica-paused'({ replica }) {
      const name = replicaName(replica);
      if (!replicas.get(name)?.isAlive() || scheduler.stateOf(name) !== 'running') return null;
      scheduler.setState(name, 'paused');
      return () => scheduler.stateOf(name) === 'paused' && scheduler.setState(name, 'running');
    },
    'replica-restarted'(fault) {
      const replica = replicas.get(replicaName(fault.replica));
      if (!replica?.isAlive() || replica.gateway() === null || scheduler.stateOf(replica.name) !== 'running') return null;
      const stopped = replica.stop().then(() => {
        replica.kill(() => true);
      });
      track(stopped);
      return () => track(stopped.then(() => world.start(replica.name)));
    },
    'clock-step'({ replica, amount }) {
      const stepped = replicas.get(replicaName(replica))?.clock;
      stepped?.step(amount);
      return () => stepped?.step(-amount);
    },
    'clients-cut'({ replica, amount }) {
      const stop = clock.every(CUT_EVERY_MS, () => {
        if (random.chance(amount / 100)) network.cut('clients', replicaName(replica), (count) => random.int(0, Math.max(0, count - 1)));
      });
      return stop;
    },
    'operator-pause'({ isHarsh }) {
      track(operate('POST', '/switches', { mode: isHarsh ? 'paused' : 'draining', reason: 'a drill' }));
      return () => track(operate('POST', '/switches', { mode: 'running' }));
    },
    'operator-rotates'({ isHarsh }) {
      const [wallet, successor] = isHarsh ? wallets : [...wallets].reverse();
      // The last wallet that stays is not retired.
      if (wallet === undefined || successor === undefined || isRotating) return null;
      isRotating = true;
      const rotate = (isRetiring: boolean): Promise<void> =>
        operate('POST', '/rotation', { chain: controls.definition.slug, wallet, isRetiring });
      track(rotate(true).then(() => delegateTo(successor)));
      return () => track(rotate(false).then(() => void (isRotating = false)));
    },
    'contract-changed-event': (fault) => contract.changeEvents(fault),
    'diamond-cut': () => contract.cut(),
    'database-copied': () => database?.copy() ?? null,
    'database-goes-back': (fault) => database?.goBack(fault) ?? null,
    'database-emptied': (fault) => database?.empty(fault) ?? null,
    'database-switched-over': (fault) => database?.switchOver(fault) ?? null,
    'operator-rules'({ amount }) {
      track(operate('PUT', `/rules/${controls.definition.slug}/default`, { ordersPerMinute: amount }));
      return () => track(operate('DELETE', `/rules/${controls.definition.slug}/default`));
    },
  };

  async function end(fault: Fault): Promise<void> {
    const undo = open.get(fault);
    open.delete(fault);
    if (undo === undefined) return;
    scheduler.note(`end ${fault.kind}`);
    await undo();
  }

  async function begin(fault: Fault, states: readonly string[]): Promise<void> {
    const now = scheduler.now();
    scheduler.note(`begin ${fault.kind} ${fault.replica} ${fault.amount}`);
    const undo = await BEGIN[fault.kind](fault);
    if (undo === null) {
      if (fault.isAimed === true) timers.schedule(LOOK_AGAIN_MS, 'fault', () => arm(fault));
      return;
    }
    applied.push(fault.kind);
    for (const state of states) met.push(`fault ${fault.kind} ${state}`);
    open.set(fault, undo);
    clock.after(Math.max(1, now + fault.forMs - scheduler.now()), () => track(end(fault)));
  }

  // Awaited by the scheduler, so that nothing happens between a state and its fault.
  const timers = scheduler.lane('world', 'world/faults');
  /** Faults that wait for a state. */
  const armed = new Set<Fault>();
  const beginArmed = async (fault: Fault, isLast = false): Promise<void> => {
    const states = await laneStates(world);
    const waitsOn = fault.isSure === true || fault.isAimed === true;
    if (waitsOn && !isLast && fault.when !== null && !states.includes(fault.when)) return;
    armed.delete(fault);
    track(begin(fault, states));
  };
  gate.watchStates(async (state, owner) => {
    await losses?.observe(state, owner);
    for (const fault of [...armed].filter(({ when, isAimed }) => when === state || isAimed === true)) {
      if (fault.afterMs === 0) await beginArmed(fault);
      else timers.schedule(fault.afterMs, 'fault', () => (armed.has(fault) ? beginArmed(fault) : undefined));
    }
  });
  /** Jobs end without a statement that is watched. */
  const lookAgain = (fault: Fault): void =>
    void timers.schedule(LOOK_AGAIN_MS, 'fault', async () => {
      if (!armed.has(fault)) return;
      await beginArmed(fault);
      if (armed.has(fault)) lookAgain(fault);
    });
  function arm(fault: Fault): void {
    if (scheduler.now() >= from + plan.busyMs) return;
    armed.add(fault);
    if (fault.isAimed === true) lookAgain(fault);
  }
  for (const fault of plan.faults)
    timers.schedule(fault.at, 'fault', () => {
      if (fault.when === null) return beginArmed(fault);
      arm(fault);
      timers.schedule(from + plan.busyMs - scheduler.now(), 'fault', () => (armed.has(fault) ? beginArmed(fault, true) : undefined));
      return undefined;
    });

  return {
    async healed() {
      armed.clear();
      const all = (): Promise<unknown> => Promise.all(work);
      await all();
      for (const fault of [...open.keys()]) if (fault.kind !== 'rpc-wrong-count' && fault.kind !== 'replica-paused') await end(fault);
      while (open.size > 0) await clock.sleep(100);
      while (work.size > 0) await all();
      await contract.settle(SETTLE_MS);
      for (const replica of replicas.values()) if (!replica.isAlive()) failures.push(`${replica.name} does not run`);
    },
    applied: () => applied,
    failures: () => failures,
    met: () => met,
    foreign: () => onChain.foreign,
    lastTakenBackAt: () => takenBackAt,
    contract: () => watch,
    losses: () => losses,
    sent: () => nodeFaults.sent,
  };
}

/** False: the chain is not long enough for it. */
async function isPossible(reorganisation: Promise<unknown>): Promise<boolean> {
  try {
    await reorganisation;
    return true;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return false;
  }
}

const STATES = `
  select distinct state from relay_jobs where not is_over
  union all select 'blocked' from relay_lanes where blocked_since is not null`;

/** The states of the open jobs; `empty` without one. */
async function laneStates({ gate }: World): Promise<readonly string[]> {
  const rows = await gate.readNow<{ state: string }>(STATES);
  return rows.length === 0 ? ['empty'] : rows.map(({ state }) => state).sort();
}
