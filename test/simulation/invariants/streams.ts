import type { Heard } from '../clients/stream-follower.js';
import type { Invariant } from './evidence.js';

const ORDER_ROWS = `
  select cursor::float8 as cursor, coalesce(about -> 'id' ->> '$n', about ->> 'id') as id, coalesce(about -> 'order' ->> 'status', 'gone') as status
  from (select journal.cursor, case kind when 'correction' then fact -> 'of' else fact end as about, kind from journal where trader = $1) entry
  where kind = 'order' or kind = 'correction' and about ->> 'kind' = 'order' order by entry.cursor`;

const CURSORS = 'select cursor::float8 as cursor from journal where trader = $1';

/** A client that comes back with its cursor receives every entry of the journal once, in order, and what it says of its order. */
export const streamsEqualJournal: Invariant = async ({ world, bots, faults, plan }) => {
  const endsEarly = plan.arePatient !== true && faults.losses()?.swaps.some(({ kind }) => kind !== 'same') === true;
  const complaints: string[] = [];
  const shown = ({ cursor, id, status }: Heard): string => `${cursor}: ${id} ${status}`;
  for (const follower of bots.followers) {
    const { trader, parts } = follower;
    const [start = null, heard = []] = [parts.at(-1)?.start, parts.at(-1)?.heard];
    if (start === null) {
      if (endsEarly && parts.length > 1) continue;
      complaints.push(`the stream of ${trader} never began`);
      continue;
    }
    const rows = await world.gate.read<Heard>(ORDER_ROWS, [trader]);
    const lost = new Set((faults.losses()?.swaps ?? []).flatMap((swap) => [...swap.lost]));
    // A client that still has its cursor may have received what was lost before it: those entries are no one's.
    const said = heard.filter(({ cursor }) => !lost.has(`cursor ${trader} ${cursor}`)).map(shown);
    const expected = rows.filter(({ cursor }) => cursor > start).map(shown);
    // Where clients do not wait, the run may end before a connection is taken again.
    const due = endsEarly ? expected.slice(0, said.length) : expected;
    if (due.join() !== said.join())
      complaints.push(`the stream of ${trader} from ${start} on brought ${said.join(', ')} instead of ${expected.join(', ')}`);
    const known = new Set((await world.gate.read<{ cursor: number }>(CURSORS, [trader])).map(({ cursor }) => cursor));
    const gone = parts.flatMap((part) => part.heard).filter(({ cursor }) => !known.has(cursor) && !lost.has(`cursor ${trader} ${cursor}`));
    if (gone.length > 0) complaints.push(`the stream of ${trader} brought ${gone.map(shown).join(', ')}, which is in no journal`);
  }
  return complaints;
};
