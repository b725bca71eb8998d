/** What it fails with; a word where it does not. */
export const failureOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'done',
    (error: unknown) => error,
  );
