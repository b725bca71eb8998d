import { LRUCache } from 'lru-cache';
import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../types.js';

/** Trading sessions and rates change with time alone, so no reply is cached for longer. */
const MAX_AGE_MS = 1_000;
/** Clients can spell one query in many ways (`?&`, `?&&`), each with an entry of its own: number and bytes are bounded, the longest unasked go first. */
const MAX_ENTRIES = 4_096;
const MAX_BYTES = 32 * 1024 * 1024;

/** Counts changes of a venue's data; the same value before and after means that nothing changed in between. */
interface Generation {
  value: number;
}

interface Entry {
  readonly bytes: Buffer;
  readonly of: Generation;
  readonly made: number;
  readonly until: number;
}

interface Answer<Body = string> {
  readonly status: number;
  readonly body: Body;
}

export interface ResponseCache {
  /** The cached reply to exactly this key (a URL, a body), while it is still current. */
  find(key: string): Buffer | null;
  /** The cached reply, or the result of `make`; the result is not cached if the venue's data changed meanwhile. */
  answer(venue: Venue, key: string, make: () => Promise<Answer>): Promise<Answer<Buffer>>;
  stop(): void;
}

/** Serialises public reads once per change, however many clients ask. */
export function createResponseCache(gateway: Gateway): ResponseCache {
  const sizeCalculation = ({ bytes }: Entry, key: string): number => key.length + bytes.length;
  const entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES, maxSize: MAX_BYTES, sizeCalculation });
  const generations = new Map<Venue, Generation>([...gateway.venues.values()].map((venue) => [venue, { value: 0 }]));
  const cancels = watch(gateway, generations);

  const find = (key: string): Buffer | null => {
    const entry = entries.get(key);
    if (entry === undefined) return null;
    if (entry.of.value === entry.made && gateway.clock.now() < entry.until) return entry.bytes;
    entries.delete(key);
    return null;
  };

  return {
    find,
    async answer(venue, key, make) {
      const known = find(key);
      if (known !== null) return { status: 200, body: known };
      const of = generations.get(venue);
      const made = of?.value ?? 0;
      const until = gateway.clock.now() + MAX_AGE_MS;
      const { status, body } = await make();
      const bytes = Buffer.from(body);
      if (status === 200 && of?.value === made) entries.set(key, { bytes, of, made, until });
      return { status, body: bytes };
    },
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}

function watch({ bus, venues }: Gateway, generations: ReadonlyMap<Venue, Generation>): Cancel[] {
  const changed = (venue: Venue): void => {
    const generation = generations.get(venue);
    if (generation) generation.value += 1;
  };
  return [
    bus.on('prices', ({ venue }) => changed(venue)),
    bus.on('config', ({ venue }) => changed(venue)),
    ...[...venues.values()].map((venue) => venue.feed.on('status', () => changed(venue))),
  ];
}
