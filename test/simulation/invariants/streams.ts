import type { Invariant } from './evidence.js';

const ORDER_ROWS = `
  select cursor::text from journal
  where trader = $1 and (kind = 'order' or kind = 'correction' and fact -> 'of' ->> 'kind' = 'order') order by journal.cursor`;

/** A client that comes back with its cursor receives every entry of the journal once, in order. */
export const streamsEqualJournal: Invariant = async ({ world, bots }) => {
  const complaints: string[] = [];
  for (const follower of bots.followers) {
    const { trader, cursors } = follower;
    const from = follower.start();
    if (from === null) {
      complaints.push(`the stream of ${trader} never began`);
      continue;
    }
    const rows = await world.gate.read<{ cursor: string }>(ORDER_ROWS, [trader]);
    const expected = rows.map(({ cursor }) => Number(cursor)).filter((cursor) => cursor > from);
    if (expected.join() !== cursors.join())
      complaints.push(`the stream of ${trader} from ${from} on brought ${cursors.join()} instead of ${expected.join()}`);
  }
  return complaints;
};
