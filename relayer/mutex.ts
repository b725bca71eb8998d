export type Mutex = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** A mutex: tasks run one after the other, in the order they were given. */
export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
