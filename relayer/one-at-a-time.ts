export type OneAtATime = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Works that are given to it run one after the other, in the order they came. */
export function createOneAtATime(): OneAtATime {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
