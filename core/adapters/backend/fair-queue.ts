export interface FairQueue {
  /** Runs when it is its line's turn; null when the line or the whole is full. */
  take<Result>(line: string, work: () => Promise<Result>): Promise<Result> | null;
}

export interface QueueLimits {
  readonly perLine: number;
  readonly total: number;
}

/** One at a time. Lines take turns, so that a long one makes nobody wait but its own. */
export function createFairQueue({ perLine, total }: QueueLimits): FairQueue {
  const lines = new Map<string, (() => Promise<unknown>)[]>();
  let waiting = 0;
  let isBusy = false;

  /** A line that had its turn goes to the end. */
  const next = (): (() => Promise<unknown>) | undefined => {
    for (const [line, works] of lines) {
      const work = works.shift();
      lines.delete(line);
      if (works.length > 0) lines.set(line, works);
      if (work !== undefined) return work;
    }
    return undefined;
  };

  const run = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    for (let work = next(); work !== undefined; work = next()) {
      await work();
      waiting -= 1;
    }
    isBusy = false;
  };

  return {
    take(line, work) {
      const works = lines.get(line) ?? [];
      if (waiting >= total || works.length >= perLine) return null;
      waiting += 1;
      return new Promise((resolve, reject) => {
        // Never rejects: what went wrong is its caller's, not the next one's.
        works.push(() => work().then(resolve, reject));
        lines.set(line, works);
        void run();
      });
    },
  };
}
