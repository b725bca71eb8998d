/** Resolves when every promise has settled, so that none keeps running unawaited; then rejects with the first failure. */
export async function allDone(works: readonly Promise<unknown>[]): Promise<void> {
  const failure = (await Promise.allSettled(works)).find((each) => each.status === 'rejected');
  if (failure) throw failure.reason;
}
