import { positionOf, readPositions, type HeldPosition, type Position } from '../account/list-positions.js';
import type { Venue } from '../gateway.js';
import type { Cancel } from '../types.js';
import type { PollRingOptions } from './poll-ring.js';
import { createStateSource, type AccountWatch, type StateSource } from './state-source.js';

/** Trades of others change a market's fees without an event for this account, so positions are polled too. */
export const POSITION_POLLS: PollRingOptions = { everyMs: 15_000, perSecond: 10 };
/** Profit changes with every price; it is published at most this often. */
const PRICED_EVERY_MS = 1_000;

/** Open positions of one account with current profit: read from the chain when something happened, repriced from the feed in between. */
export function createPositionSource({ gateway, venue, journal, polls, trader }: AccountWatch): StateSource<Position[]> {
  const { clock } = venue;
  const source = createStateSource<HeldPosition[], Position[]>({
    gateway,
    venue,
    journal,
    trader,
    read: () => readPositions(gateway, venue, trader),
    show: (held) => held.map((position) => price(venue, position)),
    polls,
  });
  let pricedAt = 0;
  let cancelPricing: Cancel | null = null;

  const priceSoon = (): void => {
    cancelPricing ??= clock.after(Math.max(0, pricedAt + PRICED_EVERY_MS - clock.now()), () => {
      cancelPricing = null;
      pricedAt = clock.now();
      source.reshow();
    });
  };

  const stopPrices = gateway.bus.on('prices', (event) => {
    if (event.venue !== venue) return;
    if (source.latest()?.some(({ own }) => event.pairs.includes(own.trade.pairIndex))) priceSoon();
  });

  return {
    follow: source.follow,
    stop() {
      stopPrices();
      cancelPricing?.();
      source.stop();
    },
  };
}

/** Priced at the newest block, because fees accrue with block time. */
function price(venue: Venue, { own, place }: HeldPosition): Position {
  const head = venue.state.head?.block;
  return positionOf(venue, own, { ...place, block: head && head.number > place.block.number ? head : place.block });
}
