import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';

export interface AtCursor<State> {
  /** Everything up to here is in the state. */
  readonly cursor: bigint;
  /** Nothing above this is in it; equal to the cursor unless the account would not hold still. */
  readonly until: bigint;
  readonly state: State;
}

const TRIES = 5;

/** What is read between two looks at the same cursor is the state at that cursor, because every change of it moves the cursor. */
export async function readAtCursor<State>(
  { store }: Gateway,
  venue: Venue,
  trader: Address,
  read: () => Promise<State>,
): Promise<AtCursor<State>> {
  const last = (): Promise<bigint> => store.journal.last(venue.definition.slug, trader);
  let cursor = await last();
  for (let tries = 1; ; tries += 1) {
    const state = await read();
    const until = await last();
    if (until === cursor || tries === TRIES) return { cursor, until, state };
    cursor = until;
  }
}
