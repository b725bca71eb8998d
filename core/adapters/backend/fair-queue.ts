export interface FairQueue {
  /** Runs when its queue has its turn; null when the queue or the total is full. */
  take<Result>(line: string, work: () => Promise<Result>): Promise<Result> | null;
}

export interface QueueLimits {
  readonly perLine: number;
  readonly total: number;
}

/** Runs one task at a time, round-robin over named queues, so that a long queue delays only its own tasks. */
export function createFairQueue({ perLine, total }: QueueLimits): FairQueue {
  const lines = new Map<string, (() => Promise<unknown>)[]>();
  let waiting = 0;
  let isBusy = false;

  /** A queue that had its turn moves to the end. */
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
        // Never rejects: a failure concerns its caller only, not the next task.
        works.push(() => work().then(resolve, reject));
        lines.set(line, works);
        void run();
      });
    },
  };
}
