import { signal, type ReadonlySignal } from '@preact/signals';

const TICK_MS = 1_000;
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), TICK_MS);

/** This browser's time, once a second: what shows an age reads it. */
export const clock: ReadonlySignal<number> = now;
