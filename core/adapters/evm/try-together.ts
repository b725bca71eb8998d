import { encodeFunctionData, numberToHex, prepareEncodeFunctionData, type PublicClient } from 'viem';
import type { Clock } from '../../ports/clock.js';
import type { Address, Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';

/** A call of the Diamond as it will be sent. */
export interface Trial {
  readonly from: Address;
  readonly data: Hex;
  readonly gas: bigint;
  /** Similar calls passed individually a moment ago. */
  readonly isUsual: boolean;
}

export type Try = (trial: Trial) => Promise<boolean>;

interface Group {
  readonly trials: Trial[];
  readonly havePassed: Promise<boolean>;
  /** How many of them passed individually after the batch failed. */
  passedAlone: number;
}

/** Limit of the Diamond's multicall. */
const MAX_BATCH = 20;
/** Where calls pass individually and not as a batch, this Diamond may lack multicall. */
const UNBATCHED_MS = 60_000;

/**
 * Simulates calls. Usual calls of one sender in one turn of the event loop are simulated as one multicall, which saves most of the calls and
 * a quarter of the node's time. Only calls that consume funds may be batched: a call that passes after others also passes alone. The
 * multicall does not show the gas of each call, so a similar call must have passed with the same gas before. Calls of a failed batch are
 * simulated individually.
 */
export function createTry(client: PublicClient, diamond: Address, clock: Clock): Try {
  const gathering = new Map<Address, Group>();
  let unbatchedUntil = 0;

  async function passes(from: Address, data: Hex, gas: bigint): Promise<boolean> {
    try {
      await client.request({ method: 'eth_call', params: [{ from, to: diamond, data, gas: numberToHex(gas) }, 'latest'] });
      return true;
    } catch {
      return false;
    }
  }

  const passesAlone = ({ from, data, gas }: Trial): Promise<boolean> => passes(from, data, gas);

  function groupOf(trial: Trial): Group {
    const { from } = trial;
    const last = gathering.get(from);
    if (last && last.trials.length < MAX_BATCH) {
      last.trials.push(trial);
      return last;
    }
    const trials = [trial];
    // Calls that one database answer triggered have been added by then.
    const isComplete = new Promise<void>((resolve) => process.nextTick(resolve));
    const havePassed = isComplete.then(() => {
      if (gathering.get(from) === group) gathering.delete(from);
      return trials.length > 1 && passTogether(trials);
    });
    const group: Group = { trials, havePassed, passedAlone: 0 };
    gathering.set(from, group);
    return group;
  }

  function passTogether(trials: readonly Trial[]): Promise<boolean> {
    const data = encodeFunctionData({ ...MULTICALL, args: [trials.map((trial) => trial.data)] });
    const gas = trials.reduce((sum, trial) => sum + trial.gas, 0n);
    return passes(trials[0]?.from ?? diamond, data, gas);
  }

  return async (trial) => {
    if (!trial.isUsual || clock.now() < unbatchedUntil) return passesAlone(trial);
    const group = groupOf(trial);
    if (await group.havePassed) return true;
    const hasPassed = await passesAlone(trial);
    if (hasPassed) group.passedAlone += 1;
    if (group.trials.length > 1 && group.passedAlone === group.trials.length) unbatchedUntil = clock.now() + UNBATCHED_MS;
    return hasPassed;
  };
}

const MULTICALL = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'multicall' });
