/** `differs`: it answers, but not as the code expects. `unreachable`: it gives no usable answer. */
export const VERDICTS = ['ok', 'differs', 'unreachable'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Finding {
  /** What was checked: a node, the Diamond or a backend, by its host. */
  readonly part: string;
  readonly check: string;
  readonly expected: string;
  readonly found: string;
  readonly verdict: Verdict;
}

export interface Outcome {
  readonly found: string;
  readonly verdict: Verdict;
}

export const ok = (found: string): Outcome => ({ found, verdict: 'ok' });
export const differs = (found: string): Outcome => ({ found, verdict: 'differs' });
export const unreachable = (found: string): Outcome => ({ found, verdict: 'unreachable' });
export const judge = (isOk: boolean, found: string): Outcome => (isOk ? ok(found) : differs(found));

/** The worst finding decides: 0 as expected, 1 something differs, 2 something could not be checked. */
export const exitCodeOf = (findings: readonly Pick<Finding, 'verdict'>[]): number =>
  Math.max(0, ...findings.map(({ verdict }) => VERDICTS.indexOf(verdict)));

const MOST_SHOWN = 6;

/** The first items, and how many more there are. */
export function few(items: readonly string[], most = MOST_SHOWN): string {
  const rest = items.length - most;
  return rest > 0 ? `${items.slice(0, most).join(', ')} and ${rest} more` : items.join(', ');
}
