import type { Gateway, Venue } from '../core/gateway.js';
import type { Cancel } from '../core/types.js';

/** Sessions and rates move with time alone, so no answer is older than this. */
const MAX_AGE_MS = 1_000;
/** Spellings of a question are the client's (`?&`, `?&&`), and each holds an answer of its own: the table is emptied rather than let grow. */
const MAX_ENTRIES = 4_096;
const MAX_BYTES = 32 * 1024 * 1024;

/** Counts what a venue's answers depend on; equal before and after means that nothing changed in between. */
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

export interface HotReplies {
  /** The answer to exactly this question (a URL, a body), while it is still what the venue would say. */
  find(key: string): Buffer | null;
  /** What is stored, or what `make` gives; a change that falls between question and answer leaves it unstored. */
  answer(venue: Venue, key: string, make: () => Promise<Answer>): Promise<Answer<Buffer>>;
  stop(): void;
}

/** Public reads are serialised once per change, however many ask. */
export function createHotReplies(gateway: Gateway): HotReplies {
  const entries = new Map<string, Entry>();
  const generations = new Map<Venue, Generation>([...gateway.venues.values()].map((venue) => [venue, { value: 0 }]));
  const cancels = watch(gateway, generations);

  let held = 0;

  const forget = (key: string, { bytes }: Entry): void => {
    entries.delete(key);
    held -= sizeOf(key, bytes);
  };

  const keep = (key: string, entry: Entry): void => {
    const known = entries.get(key);
    if (known !== undefined) forget(key, known);
    const size = sizeOf(key, entry.bytes);
    if (entries.size >= MAX_ENTRIES || held + size > MAX_BYTES) {
      entries.clear();
      held = 0;
    }
    entries.set(key, entry);
    held += size;
  };

  const find = (key: string): Buffer | null => {
    const entry = entries.get(key);
    if (entry === undefined) return null;
    if (entry.of.value === entry.made && gateway.clock.now() < entry.until) return entry.bytes;
    forget(key, entry);
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
      if (status === 200 && of?.value === made) keep(key, { bytes, of, made, until });
      return { status, body: bytes };
    },
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}

const sizeOf = (key: string, bytes: Buffer): number => key.length + bytes.length;

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
