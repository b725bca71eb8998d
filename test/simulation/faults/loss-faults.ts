import type { SimulatedClock } from '../simulated-clock.js';
import { SERVER_MOVES } from '../server-name.js';
import type { LossWatch } from '../invariants/loss-watch.js';
import type { World } from '../world.js';
import { ask } from '../clients/http-client.js';
import type { Fault } from './fault-table.js';

type Undo = () => unknown;

/** The database is another one, or another server has it. */
export interface LossFaults {
  copy(): Promise<Undo>;
  /** Null: there is no copy. */
  goBack(fault: Fault): Promise<Undo | null>;
  empty(fault: Fault): Promise<Undo>;
  switchOver(fault: Fault): Promise<Undo>;
}

interface Parts {
  readonly world: World;
  readonly clock: SimulatedClock;
  readonly watch: LossWatch;
  readonly track: (work: Promise<unknown>) => void;
  /** Milliseconds until the operator looks. */
  readonly patience: () => number;
}

const LOOKS = 4;
const LOOK_AGAIN_MS = 8_000;

export function createLossFaults({ world, clock, watch, track, patience }: Parts): LossFaults {
  const { gate, server, serverName, venue, replicas } = world;
  let hasCopy = false;
  let isTaken = false;

  const move = ({ amount }: Fault): void => serverName.move(SERVER_MOVES[amount] ?? 'nothing');
  const up = async (): Promise<void> => {
    isTaken = false;
    await gate.setDown(false);
    watch.isUp();
  };

  /** As `diamond-gateway relayer adopt` does, once the operator has seen what waits. */
  async function adopt(): Promise<void> {
    for (let look = 0; look < LOOKS; look += 1) {
      await clock.sleep(look === 0 ? patience() : LOOK_AGAIN_MS);
      const said = await operate('GET');
      const waits = said?.loss?.awaitsOperator === true || (said?.wallets ?? []).length > 0;
      if (waits) await operate('POST');
      else if (said?.loss != null) return;
    }
  }

  async function operate(method: 'GET' | 'POST'): Promise<Adoptions | null> {
    const headers = { Authorization: `Bearer ${venue.operatorToken}`, 'Content-Type': 'application/json' };
    for (const { url } of [...replicas.values()].filter((replica) => replica.isAlive())) {
      const sent = { url: `${url}/relayer/adoptions`, method, headers, ...(method === 'POST' && { body: '{}' }) };
      const answer = await ask(clock, sent);
      if (answer?.status === 200) return answer.body as Adoptions;
    }
    return null;
  }

  /** One after the other: two faults may begin at once. */
  async function swap(fault: Fault, kind: 'lost' | 'emptied' | 'same', work: (database: string) => Promise<unknown>): Promise<Undo> {
    isTaken = true;
    await gate.setDown(true);
    const { before, after } = await gate.alone({ work, look: watch.look });
    move(fault);
    watch.swapped(kind, before, after);
    return up;
  }

  return {
    async copy() {
      const { after } = await gate.alone({ work: (database) => server.copy(database), look: watch.look });
      hasCopy = true;
      watch.swapped('same', after, after);
      return () => undefined;
    },
    async goBack(fault) {
      if (!hasCopy || isTaken) return null;
      hasCopy = false;
      const undo = await swap(fault, 'lost', (database) => server.goBack(database));
      track(adopt());
      return undo;
    },
    async empty(fault) {
      if (isTaken) return () => undefined;
      const stopped = fault.isHarsh ? [...replicas.values()].filter((replica) => replica.isAlive() && replica.gateway() !== null) : [];
      for (const replica of stopped) replica.kill(() => true);
      const undo = await swap(fault, 'emptied', (database) => server.empty(database));
      // In one of two the operator leaves it as it is.
      if (fault.forMs % 2 === 0) track(adopt());
      return async () => {
        await undo();
        for (const { name } of stopped) track(world.start(name));
      };
    },
    switchOver: (fault) => (isTaken ? Promise.resolve(() => undefined) : swap(fault, 'same', () => Promise.resolve())),
  };
}

interface Adoptions {
  readonly loss?: { readonly awaitsOperator: boolean } | null;
  readonly wallets?: readonly unknown[];
}
