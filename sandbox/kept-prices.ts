import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { z } from 'zod';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { Cancel } from '../core/types.js';
import { MAX_PRICE } from './backend/price-grid.js';
import type { PriceWalk } from './backend/price-walk.js';

const Stored = z.strictObject({
  version: z.literal(1),
  /** By pair index, 1e10. */
  prices: z.record(
    z.string().regex(/^\d{1,5}$/),
    z
      .string()
      .regex(/^[1-9]\d{0,17}$/)
      .transform(BigInt)
      .refine((price) => price <= MAX_PRICE),
  ),
});

const SAVE_EVERY_MS = 1_000;

/** The market prices when the sandbox ended, however it ended: restored positions must not face a price from another day. */
export function readPrices(file: string, log: Logger): ReadonlyMap<number, bigint> {
  if (!existsSync(file)) return new Map();
  try {
    const { prices } = Stored.parse(JSON.parse(readFileSync(file, 'utf8')));
    return new Map(Object.entries(prices).map(([pairIndex, price]) => [Number(pairIndex), price]));
  } catch (error) {
    log.warn('sandbox.prices-unreadable', { file, error });
    return new Map();
  }
}

/** Saves the prices periodically; the returned function saves them for the last time. */
export function keepPrices(file: string, walk: PriceWalk, clock: Clock, log: Logger): Cancel {
  const save = (): void => {
    try {
      replaceFile(
        file,
        JSON.stringify({ version: 1, prices: Object.fromEntries([...walk.prices()].map(([at, price]) => [at, String(price)])) }),
      );
    } catch (error) {
      log.warn('sandbox.prices-unwritten', { file, error });
    }
  };
  const stop = clock.every(SAVE_EVERY_MS, save);
  return () => {
    stop();
    save();
  };
}

/** Atomic, also across a power failure. */
function replaceFile(file: string, text: string): void {
  const draft = `${file}.draft`;
  const handle = openSync(draft, 'w', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(draft, file);
}
