export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** `part` of the values are below it: 0.5 is the median. */
export function quantile(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
}
