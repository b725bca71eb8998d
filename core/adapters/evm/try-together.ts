import { encodeFunctionData, numberToHex, prepareEncodeFunctionData, type PublicClient } from 'viem';
import type { Clock } from '../../ports/clock.js';
import type { Address, Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';

/** A call of the Diamond as it is to be sent. */
export interface Trial {
  readonly from: Address;
  readonly data: Hex;
  readonly gas: bigint;
  /** Others like it passed alone a moment ago. */
  readonly isUsual: boolean;
}

export type Try = (trial: Trial) => Promise<boolean>;

interface Group {
  readonly trials: Trial[];
  readonly havePassed: Promise<boolean>;
  /** How many of them passed alone after they failed together. */
  passedAlone: number;
}

/** As many as the Diamond takes. */
const MOST_TOGETHER = 20;
/** Where calls pass alone and not together, the Diamond may not serve the way they are put together. */
const ALONE_MS = 60_000;

/**
 * Whether calls would pass. Usual ones of one sender that come in one turn of the event loop are tried one after the other in a single
 * question, which takes a node half the work. Only what uses things up may be tried so: what passes behind others has the means to pass
 * alone. How much gas it takes alone does not show, which is why one like it must have passed with as much. What fails in company is tried
 * alone.
 */
export function createTry(client: PublicClient, diamond: Address, clock: Clock): Try {
  const gathering = new Map<Address, Group>();
  let aloneUntil = 0;

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
    if (last && last.trials.length < MOST_TOGETHER) {
      last.trials.push(trial);
      return last;
    }
    const trials = [trial];
    // What one answer of the database set going is there by then.
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
    if (!trial.isUsual || clock.now() < aloneUntil) return passesAlone(trial);
    const group = groupOf(trial);
    if (await group.havePassed) return true;
    const hasPassed = await passesAlone(trial);
    if (hasPassed) group.passedAlone += 1;
    if (group.trials.length > 1 && group.passedAlone === group.trials.length) aloneUntil = clock.now() + ALONE_MS;
    return hasPassed;
  };
}

const MULTICALL = prepareEncodeFunctionData({ abi: diamondAbi, functionName: 'multicall' });
