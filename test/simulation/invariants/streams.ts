import type { Heard } from '../clients/stream-follower.js';
import type { Invariant } from './evidence.js';

const ORDER_ROWS = `
  select cursor::integer, coalesce(about -> 'id' ->> '$n', about ->> 'id') as id, coalesce(about -> 'order' ->> 'status', 'gone') as status
  from (select journal.cursor, case kind when 'correction' then fact -> 'of' else fact end as about, kind from journal where trader = $1) entry
  where kind = 'order' or kind = 'correction' and about ->> 'kind' = 'order' order by entry.cursor`;

/** A client that comes back with its cursor receives every entry of the journal once, in order, and what it says of its order. */
export const streamsEqualJournal: Invariant = async ({ world, bots }) => {
  const complaints: string[] = [];
  const shown = ({ cursor, id, status }: Heard): string => `${cursor}: ${id} ${status}`;
  for (const follower of bots.followers) {
    const { trader, heard } = follower;
    const from = follower.start();
    if (from === null) {
      complaints.push(`the stream of ${trader} never began`);
      continue;
    }
    const rows = await world.gate.read<Heard>(ORDER_ROWS, [trader]);
    const expected = rows.filter(({ cursor }) => cursor > from).map(shown);
    const said = heard.map(shown);
    if (expected.join() !== said.join())
      complaints.push(`the stream of ${trader} from ${from} on brought ${said.join(', ')} instead of ${expected.join(', ')}`);
  }
  return complaints;
};
