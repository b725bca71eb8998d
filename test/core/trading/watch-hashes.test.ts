import { chainBySlug } from '../../../core/chains/chains.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { watchHashes } from '../../../core/trading/watch-hashes.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const CHECK_EVERY_MS = 2_000;
const CURSOR = { startBlock: 1n, number: 7n, hash: '0x07' } as const;

describe('orders with a reported hash', () => {
  it('are looked at in turn every so often while blocks are read completely, and at once where they are not', async () => {
    const did: string[] = [];
    const orders = {
      sent: () => Promise.resolve((did.push('looked'), [])),
      expire: () => Promise.resolve((did.push('expired'), 0)),
    };
    const clock = createManualClock();
    const venue = { definition: chainBySlug('base'), clock } as unknown as Venue;
    const watch = (blocks: Parameters<typeof watchHashes>[3]): Promise<void> =>
      watchHashes({ store: { orders } } as unknown as Gateway, venue, CURSOR, blocks);
    await watch(new Map());
    clock.advance(CHECK_EVERY_MS - 1);
    await watch(new Map());
    expect(did).toEqual(['looked']);
    clock.advance(1);
    await watch(new Map());
    expect(did).toEqual(['looked', 'looked']);
    await watch(null);
    expect(did).toEqual(['looked', 'looked', 'looked']);
  });
});
