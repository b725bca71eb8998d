/** How deep reorganisations go in a test: the least and the most, or, where there is time, every depth. */
export const DEPTHS: readonly number[] = process.env['SLOW_TESTS'] === '1' ? [1, 2, 3, 4, 5] : [1, 5];
