import type { PositionEdited, HeldTrade, Level } from './chain-event.js';
import type { LogNamed } from './diamond-log.js';
import { lower, plainTerms, type TransactionLogs } from './interpret-executions.js';

type EditLog = LogNamed<'TradeTpUpdated' | 'TradeSlUpdated' | 'TradeMaxClosingSlippagePUpdated'>;

export const edited = (log: EditLog, field: PositionEdited['field'], value: bigint): PositionEdited => ({
  kind: 'edited',
  trader: lower(log.args.user),
  orderKey: null,
  tradeIndex: log.args.index,
  place: log.place,
  field,
  value,
});

/** A TP/SL change, with the position it applies to, because a TP/SL order closes the whole position. */
export function editedLevel(log: EditLog, story: TransactionLogs, level: Level, value: bigint): PositionEdited {
  const held = heldAt(log, story);
  return { ...edited(log, level, value), ...(held && { held }) };
}

function heldAt({ args, place }: EditLog, { logs, tradeOf }: TransactionLogs): HeldTrade | null {
  const trade = tradeOf(lower(args.user), args.index);
  if (trade === null) return null;
  const slipped = logs.findLast(
    (other): other is LogNamed<'TradeMaxClosingSlippagePUpdated'> =>
      other.name === 'TradeMaxClosingSlippagePUpdated' &&
      other.place.logIndex < place.logIndex &&
      lower(other.args.user) === lower(args.user) &&
      other.args.index === args.index,
  );
  const { sizeToken, isCounterTrade } = trade;
  return {
    trade: { ...plainTerms(trade), sizeToken, isCounterTrade },
    slippageP: slipped === undefined ? trade.slippageP : BigInt(slipped.args.maxClosingSlippageP),
  };
}
