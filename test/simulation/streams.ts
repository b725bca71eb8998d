/** Streams of random numbers of one seed: a change of one does not move the others. */
export const STREAMS = { plan: 1, order: 2, latency: 3, faults: 4, clients: 5, bytes: 6, libraries: 7 } as const;
