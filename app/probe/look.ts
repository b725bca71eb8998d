import type { Clock } from '../../core/ports/clock.js';

export interface Look {
  readonly check: string;
  readonly expected: string;
  readonly timeoutMs?: number;
  /** Rejects if nothing could be determined; the message is shown. Should end soon after `signal`. */
  readonly run: (signal: AbortSignal) => Promise<Outcome>;
}

/** Runs one check and records its finding. Never rejects. */
export type Looker = (look: Look) => Promise<Verdict>;

export interface Probe {
  readonly clock: Clock;
  /** Aborts when the probe ends. */
  readonly signal: AbortSignal;
  /** Findings of one part are listed together, in the order in which the parts were created. */
  part(name: string): Looker;
  findings(): readonly Finding[];
}

export interface ProbeOptions {
  readonly clock: Clock;
  /** On abort, running checks are abandoned. */
  readonly signal: AbortSignal;
  readonly mask: (text: string) => string;
}

const LOOK_MS = 10_000;
const LONGEST_TEXT = 400;

export function createProbe({ clock, signal, mask }: ProbeOptions): Probe {
  const parts = new Map<string, Finding[]>();

  const shown = ({ found, verdict }: Outcome): Outcome => ({ found: mask(found).slice(0, LONGEST_TEXT), verdict });

  return {
    clock,
    signal,
    part(name) {
      const lines = parts.get(name) ?? [];
      parts.set(name, lines);
      return async ({ check, expected, run, timeoutMs = LOOK_MS }) => {
        const place = lines.push({ part: name, check, expected, found: '', verdict: 'unreachable' }) - 1;
        const outcome = shown(await inTime(clock, signal, timeoutMs, run));
        lines[place] = { part: name, check, expected, ...outcome };
        return outcome.verdict;
      };
    },
    findings: () => [...parts.values()].flat(),
  };
}

async function inTime(clock: Clock, whole: AbortSignal, timeoutMs: number, run: Look['run']): Promise<Outcome> {
  if (whole.aborted) return unreachable('not looked at: the time of the probe was over');
  const end = new AbortController();
  const signal = AbortSignal.any([whole, end.signal]);
  const patience = clock.sleep(timeoutMs, signal).then(() => unreachable(`no answer within ${timeoutMs / 1000} s`));
  try {
    return await Promise.race([run(signal), patience]);
  } catch (error) {
    return unreachable(error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : 'failed');
  } finally {
    end.abort();
  }
}

/** `differs`: it answers, but not as the code expects. `unreachable`: it gives no usable answer. */
export const VERDICTS = ['ok', 'differs', 'unreachable'] as const;
type Verdict = (typeof VERDICTS)[number];

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
