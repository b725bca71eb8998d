import type { Random } from '../../fuzz/random.js';
import type { SimulatedClock } from '../simulated-clock.js';
import type { HttpAnswer } from './http-client.js';

/** Signed requests that were accepted, for one who has them and sends the same bytes again. */
export interface Replays {
  add(accepted: Accepted): void;
  /** Sends some again now and later: before, while and after requests of that time are refused. */
  begin(random: Random): void;
  readonly complaints: readonly string[];
  readonly count: number;
}

export interface Accepted {
  readonly about: string;
  readonly send: () => Promise<HttpAnswer | null>;
  /** The orders that an answer names. */
  readonly idsIn: (answer: HttpAnswer) => readonly string[];
  readonly ids: readonly string[];
}

const AFTER_MS = [50, 1_500, 12_000, 31_500, 45_000, 61_500];
const TOGETHER = 3;
/** Of the newest: those are lost. */
const NEWEST = 12;

export function createReplays(clock: SimulatedClock): Replays {
  const accepted: Accepted[] = [];
  const complaints: string[] = [];
  let count = 0;

  async function replay({ about, send, idsIn, ids }: Accepted): Promise<void> {
    count += 1;
    const answer = await send();
    if (answer === null || answer.status >= 300) return;
    const more = idsIn(answer).filter((id) => !ids.includes(id));
    if (more.length > 0)
      complaints.push(`${about} was answered with ${ids.join(', ') || 'no order'}; sent again it made ${more.join(', ')}`);
  }

  return {
    add: (one) => void accepted.push(one),
    begin(random) {
      const newest = accepted.slice(-NEWEST);
      for (const ms of AFTER_MS)
        for (let turn = 0; turn < TOGETHER && newest.length > 0; turn += 1) {
          const chosen = random.pick(newest);
          clock.after(ms + turn, () => void replay(chosen));
        }
    },
    complaints,
    get count() {
      return count;
    },
  };
}
