/** A read-write lock; a waiting writer precedes new readers, so mining is never starved by load. */
export interface Gate {
  shared<Result>(task: () => Promise<Result>): Promise<Result>;
  exclusive<Result>(task: () => Promise<Result>): Promise<Result>;
}

export function createGate(): Gate {
  let readers = 0;
  let writing = false;
  const writers: (() => void)[] = [];
  const waiting: (() => void)[] = [];

  function next(): void {
    if (writing) return;
    if (writers.length > 0) {
      if (readers > 0) return;
      writing = true;
      writers.shift()?.();
      return;
    }
    for (const start of waiting.splice(0)) {
      readers += 1;
      start();
    }
  }

  return {
    async shared(task) {
      if (writing || writers.length > 0) await new Promise<void>((start) => waiting.push(start));
      else readers += 1;
      try {
        return await task();
      } finally {
        readers -= 1;
        next();
      }
    },
    async exclusive(task) {
      await new Promise<void>((start) => {
        writers.push(start);
        next();
      });
      try {
        return await task();
      } finally {
        writing = false;
        next();
      }
    },
  };
}
