import { changesTrade, type NetPosition } from '../../domain/net-position.js';
import type { PositionState } from '../../domain/position.js';
import type { FillToFold, NetPositionUnit } from '../../ports/stores/net-positions.js';
import type { Address } from '../../types.js';
import { isNamed, plannedAnew, statement, type Statement, type Values } from './statement.js';
import { readEvent, readPosition, tradeRefs } from './tracking-rows.js';

export function createNetPositionUnit(
  rows: <Row>(asked: Statement, values: Values) => Promise<Row[]>,
  leave: (asked: Statement, values: Values) => void,
): NetPositionUnit {
  return {
    async openPositions(traders) {
      const byTrader = new Map<Address, Map<number, PositionState>>(traders.map((trader) => [trader, new Map()]));
      for (const { trader, trade_index, state } of await rows<PositionRow>(OPEN_POSITIONS, { traders })) {
        const position = readPosition(state);
        if (position !== null) byTrader.get(trader)?.set(Number(trade_index), position);
      }
      return byTrader;
    },
    async neverExecuted(trades) {
      if (trades.length === 0) return [];
      const found = await rows<{ trader: Address; trade_index: bigint }>(NEVER_EXECUTED, { refs: tradeRefs(trades) });
      return found.map(({ trader, trade_index }) => ({ trader, tradeIndex: Number(trade_index) }));
    },
    async openingEvents(trader) {
      const found = await rows<{ event: string }>(OPENING_EVENTS, { trader });
      return found.map(({ event }) => readEvent(event)).filter(changesTrade);
    },
    async fillsAfter(trader, after, limit) {
      const { blockNumber, logIndex } = after?.executed.place ?? { blockNumber: -1n, logIndex: null };
      const values = { trader, block: blockNumber, logIndex: logIndex ?? -1, id: after?.id ?? 0n, limit };
      const found = await rows<FillRow>(FILLS_AFTER, values);
      return found.flatMap(({ id, event, net_before, net_after }): FillToFold[] => {
        const executed = readEvent(event);
        return executed.kind === 'executed' ? [{ id, executed, net: netOf(net_before, net_after) }] : [];
      });
    },
    saveNets(nets) {
      const given = nets.map(({ id, net }) => ({ id: id.toString(), net_before: net.before.toString(), net_after: net.after.toString() }));
      if (given.length > 0) leave(SAVE_NETS, { rows: JSON.stringify(given) });
    },
    forgetNets(traders) {
      leave(FORGET_NETS, { traders });
    },
    unfoldedTraders: async (limit) => (await rows<{ trader: Address }>(UNFOLDED, { limit })).map(({ trader }) => trader),
  };
}

interface PositionRow {
  readonly trader: Address;
  readonly trade_index: bigint;
  readonly state: string;
}

interface FillRow {
  readonly id: bigint;
  readonly event: string;
  readonly net_before: string | null;
  readonly net_after: string | null;
}

const netOf = (before: string | null, after: string | null): NetPosition | null =>
  before === null || after === null ? null : { before: BigInt(before), after: BigInt(after) };

/** One index lookup for each trader. */
const OPEN_POSITIONS = statement(`
  select trader, trade_index, state::text from positions
  where chain = cast(:chain as text) and trader = any(cast(:traders as text[])) and is_open and state is not null`);

const NEVER_EXECUTED = statement(`
  select trader, trade_index from jsonb_to_recordset(:refs::jsonb) as wanted(trader text, trade_index bigint)
  where not exists (
    select from chain_events where chain = cast(:chain as text) and chain_events.trader = wanted.trader
      and chain_events.trade_index = wanted.trade_index and is_fill and not orphaned)`);

/** A first execution that opens its trade says nothing, unless the trade was found as well. */
export const OPENING_EVENTS = plannedAnew(`
  with found as (
    select trade_index, event from chain_events
    where chain = cast(:chain as text) and trader = cast(:trader as text) and trade_index is not null and kind = 'found' and not orphaned
  ), first_executions as (
    select distinct on (trade_index) trade_index, event from chain_events
    where chain = cast(:chain as text) and trader = cast(:trader as text) and trade_index is not null and is_fill and not orphaned
    order by trade_index, block_number, log_index
  )
  select event::text from found
  union all
  select event::text from first_executions where event ->> 'action' <> 'open' or trade_index in (select trade_index from found)`);

export const FILLS_AFTER = plannedAnew(`
  select id, event::text, net_before::text, net_after::text from chain_events
  where chain = cast(:chain as text) and trader = cast(:trader as text) and is_fill and not orphaned
    and (block_number, log_index, id) > (cast(:block as bigint), cast(:logIndex as integer), cast(:id as bigint))
  order by block_number, log_index, id limit cast(:limit as integer)`);

const GIVEN_NETS = 'jsonb_to_recordset(:rows::jsonb) as given(id bigint, net_before numeric, net_after numeric)';

const SAVE_NETS = statement(`
  update chain_events set net_before = given.net_before, net_after = given.net_after
  from ${GIVEN_NETS} where chain_events.id = given.id and ${isNamed('chain_events.id', GIVEN_NETS)}`);

const FORGET_NETS = statement(`
  update chain_events set net_before = null, net_after = null
  where chain = cast(:chain as text) and trader = any(cast(:traders as text[])) and is_fill and not orphaned and net_after is not null`);

export const UNFOLDED = plannedAnew(`
  select distinct trader from chain_events
  where chain = cast(:chain as text) and is_fill and not orphaned and net_after is null order by trader limit cast(:limit as integer)`);
