import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';

export interface AtCursor<State> {
  /** Every entry up to this one is in the state. */
  readonly cursor: bigint;
  /** No entry above this one is in the state; equal to `cursor` unless the account changed during every try. */
  readonly until: bigint;
  readonly state: State;
}

const TRIES = 5;

/** Reads the state and checks that the journal cursor is the same before and after; every change of the state moves the cursor. */
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
