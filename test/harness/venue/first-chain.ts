import type { ChainControls } from '../../../sandbox/controls.js';
import type { TestVenue } from './own-venue.js';

/** The chain of a sandbox that has one, or the one its relayer and demo accounts were made for. */
export function firstChain({ controls }: Pick<TestVenue, 'controls'>): ChainControls {
  const [first] = controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  return first;
}
