import { brokenBounds, heapProblem } from './bounds.js';
import type { FuzzVenue } from './fuzz-venue.js';
import { describeInput, type Numbered } from './input.js';
import { shrink } from './shrink.js';
import { makeInput } from './targets.js';
import type { Finding } from './watch.js';

export interface FuzzOptions {
  readonly seed: number;
  /** Whichever is reached first ends the run. */
  readonly inputs: number;
  readonly seconds: number;
  /** Inputs between two looks at the venue. */
  readonly chunk: number;
  /** The first index. */
  readonly from?: number;
  readonly write: (line: string) => void;
}

export interface Found {
  readonly signature: string;
  readonly text: string;
  readonly times: number;
  /** Null where the venue as a whole broke a bound, or no single input repeats it. */
  readonly index: number | null;
  readonly input: string | null;
}

export interface FuzzReport {
  readonly inputs: number;
  readonly found: readonly Found[];
  readonly byTarget: ReadonlyMap<string, number>;
  readonly processorSeconds: number;
  readonly wallSeconds: number;
}

/** Time for a fault that comes behind an answer. */
const AFTERMATH_MS = 20;
const MOST_SUSPECTS = 400;
/** So many causes are enough for one run. */
const MOST_FOUND = 25;

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

export async function runFuzz(venue: FuzzVenue, { seed, inputs, seconds, chunk, from = 0, write }: FuzzOptions): Promise<FuzzReport> {
  const { delivery, materials } = venue;
  const found = new Map<string, Found>();
  const byTarget = new Map<string, number>();
  const heaps: number[] = [];
  const since = performance.now();
  const processor = process.cpuUsage();
  const processorSeconds = (): number => {
    const { user, system } = process.cpuUsage(processor);
    return (user + system) / 1_000_000;
  };
  const wallSeconds = (): number => (performance.now() - since) / 1_000;
  const before = await venue.measure();
  let sent = 0;

  while (sent < inputs && wallSeconds() < seconds && found.size < MOST_FOUND) {
    const size = Math.min(chunk, inputs - sent);
    const batch = Array.from({ length: size }, (_, at) => makeInput(materials, seed, from + sent + at));
    for (const { target } of batch) byTarget.set(target, (byTarget.get(target) ?? 0) + 1);
    await delivery.deliver(batch);
    await pause(AFTERMATH_MS);
    await explain(venue, seed, found, write);
    sent += size;
    const after = await venue.measure();
    heaps.push(after.heapBytes);
    const work = { inputs: sent, admitted: delivery.counts.admitted, addresses: Math.ceil(sent / 50), seconds: wallSeconds() };
    const problems = [...brokenBounds(before, after, work), ...[heapProblem(heaps)].filter((problem) => problem !== null)];
    for (const text of problems)
      note(found, { signature: text.replace(/\d+/g, '#'), text, times: 1, index: null, input: null }, seed, write);
    write(
      progress(from + sent, sent, {
        found: found.size,
        wall: wallSeconds(),
        processor: processorSeconds(),
        heap: after.heapBytes,
        nodeCalls: after.nodeCalls - before.nodeCalls,
        admitted: delivery.counts.admitted,
        limited: delivery.counts.limited,
        unsent: delivery.counts.unsent,
      }),
    );
  }
  return { inputs: sent, found: [...found.values()], byTarget, processorSeconds: processorSeconds(), wallSeconds: wallSeconds() };
}

/** Runs one input alone and says what it caused. */
export async function replay(
  venue: FuzzVenue,
  seed: number,
  index: number,
): Promise<{ readonly input: string; readonly findings: readonly Finding[] }> {
  const numbered = makeInput(venue.materials, seed, index);
  return { input: `${numbered.target}: ${describeInput(numbered.input)}`, findings: await alone(venue, numbered) };
}

async function alone({ delivery, watch }: FuzzVenue, numbered: Numbered): Promise<Finding[]> {
  const first = watch.findings.length;
  await delivery.deliver([numbered]);
  await pause(AFTERMATH_MS);
  return watch.findings.splice(first);
}

/** Finds out which input caused what was found, makes it small, and takes the findings off the list. */
async function explain(venue: FuzzVenue, seed: number, found: Map<string, Found>, write: (line: string) => void): Promise<void> {
  const { watch, materials } = venue;
  const findings = watch.findings.splice(0);
  for (const finding of findings) {
    const known = found.get(finding.signature);
    if (known !== undefined) {
      found.set(finding.signature, { ...known, times: known.times + 1 });
      continue;
    }
    const causes = async (candidate: Numbered): Promise<boolean> =>
      (await alone(venue, candidate)).some(({ signature }) => signature === finding.signature);
    const culprit = await findCulprit(finding, (index) => makeInput(materials, seed, index), causes);
    const small = culprit === null ? null : await shrink(culprit.numbered, culprit.isRepeatable ? causes : () => Promise.resolve(false));
    const hint = culprit !== null && !culprit.isRepeatable ? ' (not repeated when sent alone)' : '';
    const input = small === null ? null : `${small.target}: ${describeInput(small.input)}`;
    note(
      found,
      { signature: finding.signature, text: `${finding.text}${hint}`, times: 1, index: small?.index ?? null, input },
      seed,
      write,
    );
  }
}

async function findCulprit(
  { index, suspects }: Finding,
  make: (index: number) => Numbered,
  causes: (candidate: Numbered) => Promise<boolean>,
): Promise<{ readonly numbered: Numbered; readonly isRepeatable: boolean } | null> {
  if (index !== null) return { numbered: make(index), isRepeatable: await causes(make(index)) };
  for (const suspect of suspects.slice(0, MOST_SUSPECTS)) {
    const numbered = make(suspect);
    if (await causes(numbered)) return { numbered, isRepeatable: true };
  }
  return null;
}

function note(found: Map<string, Found>, each: Found, seed: number, write: (line: string) => void): void {
  if (found.has(each.signature)) return;
  found.set(each.signature, each);
  write(describeFound(each, seed));
}

export const describeFound = ({ text, index, input }: Found, seed: number): string =>
  `FOUND ${text}\n  seed ${seed}, ${index === null ? 'no single input' : `index ${index}: npm run fuzz -- --seed ${seed} --replay ${index}`}${input === null ? '' : `\n  ${input}`}`;

interface Figures {
  readonly found: number;
  readonly wall: number;
  readonly processor: number;
  readonly heap: number;
  readonly nodeCalls: number;
  readonly admitted: number;
  readonly limited: number;
  readonly unsent: number;
}

const progress = (last: number, sent: number, { found, wall, processor, heap, nodeCalls, admitted, limited, unsent }: Figures): string =>
  [
    `${sent} inputs (to index ${last - 1})`,
    `${Math.round(sent / wall)}/s, ${Math.round(sent / processor)} per processor second`,
    `${found} found`,
    `heap ${Math.round(heap / 1_048_576)} MiB`,
    `${nodeCalls} node calls`,
    `${admitted} writes admitted`,
    `${limited} over a limit`,
    `${unsent} frames unsent`,
  ].join(' · ');
