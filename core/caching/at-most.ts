/** Entries of a cache. With its own `max` the library takes the memory for all of them at once, which costs 14 ms for 10,000. */
export const atMost = (entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
});
