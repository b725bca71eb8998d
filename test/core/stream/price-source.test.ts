import { AT_ONCE, createBus } from '../../../core/stream/bus.js';
import { formatDecimal } from '../../../core/domain/decimal.js';
import type { PricePoint } from '../../../core/domain/market.js';
import { venueOf, type GatewayEvents, type Venue } from '../../../core/gateway.js';
import type { Price } from '../../../core/markets/market-data.js';
import { createPriceSource, type PriceSource } from '../../../core/stream/market-sources.js';
import { eventually } from '../../harness/time/eventually.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

/** The markets of the sandbox, with prices that move when the test says so. */

const SLUG = 'arbitrum-sepolia';
const BTC = 0;
const CROWD = 2 * AT_ONCE + 1;
const turn = () => new Promise((resolve) => setImmediate(resolve));

let sandbox: TestVenue;
let venue: Venue;
let source: PriceSource;
let move: (mark: bigint) => void;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());
beforeEach(() => {
  const real = venueOf(sandbox.gateway, SLUG);
  const prices = new Map<number, PricePoint>(real.feed.prices());
  venue = { ...real, feed: { ...real.feed, prices: () => prices } };
  const bus = createBus<GatewayEvents>(() => undefined);
  source = createPriceSource({ ...sandbox.gateway, bus }, venue);
  move = (mark) => {
    const point = prices.get(BTC);
    if (!point) throw new Error('there is no price of BTC');
    prices.set(BTC, { ...point, mark: mark * 10n ** 10n });
    bus.emit('prices', { venue, pairs: [BTC] });
  };
});
afterEach(() => source.stop());

const markIn = (prices: readonly Price[]): string => {
  const found = prices.find(({ market }) => market === 'BTC/USD');
  return found ? formatDecimal(found.mark) : 'none';
};

describe('prices for a crowd', () => {
  it('that move while listeners are being called reach every listener, the last one last', async () => {
    const received = Array.from({ length: CROWD }, (): string[] => []);
    received.forEach((own) => source.listen((changed) => own.push(markIn(changed))));
    move(61_000n);
    await turn();
    expect(received.at(-1)).toEqual([]);
    move(62_000n);
    move(63_000n);
    await eventually(
      () => received.at(-1)?.at(-1),
      (last) => last === '63000',
    );
    expect(new Set(received.map((own) => own.join(' ')))).toEqual(new Set(['61000 63000']));
  });

  it('are the latest for a listener that joins meanwhile', async () => {
    for (let one = 0; one < CROWD; one += 1) source.listen(() => undefined);
    move(61_000n);
    await turn();
    move(62_000n);
    expect(markIn(source.all())).toBe('62000');
    const received: string[] = [];
    source.listen((changed) => received.push(markIn(changed)));
    await eventually(
      () => received.length,
      (count) => count > 0,
    );
    expect(received).toEqual(['62000']);
  });

  it('that cannot be read once are published when they move again', async () => {
    const received: string[] = [];
    source.listen((changed) => received.push(markIn(changed)));
    const { feed } = venue;
    const broken = () => {
      throw new Error('not now');
    };
    Object.assign(venue, { feed: { ...feed, prices: broken } });
    move(61_000n);
    await turn();
    expect(received).toEqual([]);
    Object.assign(venue, { feed });
    move(62_000n);
    await turn();
    expect(received).toEqual(['62000']);
  });
});
