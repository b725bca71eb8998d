import { GatewayError } from '../../../core/errors.js';
import type { TestVenue } from '../venue/own-venue.js';
import { eventually } from './eventually.js';

const BTC = 0;

/** It is this much later, and the gateway has prices of that time: it refuses orders while its prices are old. */
export async function moveTime({ clock, gateway }: Pick<TestVenue, 'clock' | 'gateway'>, ms: number): Promise<void> {
  clock.move(ms);
  for (const { feed } of gateway.venues.values()) await eventually(() => hasPrice(() => feed.price(BTC)), Boolean);
}

function hasPrice(price: () => unknown): boolean {
  try {
    price();
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'NOT_READY') return false;
    throw error;
  }
}
