import { comparePlaces, type ChainEvent } from '../domain/chain-event.js';
import { isLevelEvent } from '../domain/level.js';
import { tagsIn } from '../trading/tag.js';
import type { Hex } from '../types.js';
import { levelRefs } from './link-levels.js';
import { tradeRefKey, type TrackingUnit, type TradeRef } from '../ports/stores/tracking.js';

/**
 * The block of the first missed event of a position with TP/SL orders that has later events. Which order those later events belong to can
 * only be determined by ingesting again from that block. null = no such event.
 */
export async function overlookedLevel(
  unit: TrackingUnit,
  events: readonly ChainEvent[],
  inputs: ReadonlyMap<Hex, Hex>,
): Promise<bigint | null> {
  const late = (await unit.unknown(events.filter((event) => levelRefs(event).length > 0))).flatMap((event) => refOf(event));
  if (late.length === 0) return null;
  const eventsByTrade = await unit.eventsOfTrades(late.map(({ ref }) => ref));
  const overtaken = late.filter(({ event, ref }) => {
    const tradeEvents = eventsByTrade.get(tradeRefKey(ref)) ?? [];
    const isOurs = tradeEvents.some(isLevelEvent) || tagsIn(inputs.get(event.place.txHash ?? '0x') ?? '0x').length > 0;
    return isOurs && tradeEvents.some(({ place }) => place.logIndex !== null && comparePlaces(place, event.place) > 0);
  });
  const [first] = overtaken.map(({ event }) => event.place.blockNumber).sort((a, b) => (a < b ? -1 : 1));
  return first ?? null;
}

const refOf = (event: ChainEvent): { readonly event: ChainEvent; readonly ref: TradeRef }[] =>
  event.tradeIndex === null ? [] : [{ event, ref: { trader: event.trader, tradeIndex: event.tradeIndex } }];
