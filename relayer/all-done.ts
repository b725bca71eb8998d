/** When all of them are over; fails with the first that failed. Nobody is left working unattended. */
export async function allDone(works: readonly Promise<unknown>[]): Promise<void> {
  const failure = (await Promise.allSettled(works)).find((each) => each.status === 'rejected');
  if (failure) throw failure.reason;
}
