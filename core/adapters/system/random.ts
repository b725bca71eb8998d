import { randomBytes } from 'node:crypto';
import type { RandomBytes } from '../../ports/clock.js';

/** The operating system's generator, fit for secrets. */
export const systemRandom: RandomBytes = (count) => randomBytes(count);
