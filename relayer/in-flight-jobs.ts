/** Jobs that are being started; the chain reconciler skips them. */
export interface InFlightJobs {
  hold<Result>(ids: readonly bigint[], work: () => Promise<Result>): Promise<Result>;
  /** A live set of the jobs held now or later, until the next call. Released jobs stay in it, because what was read of them may be stale. */
  fromNow(): ReadonlySet<bigint>;
}

export function createInFlightJobs(): InFlightJobs {
  const held = new Set<bigint>();
  let seen = new Set<bigint>();
  return {
    async hold(ids, work) {
      for (const id of ids) [held, seen].forEach((kept) => kept.add(id));
      try {
        return await work();
      } finally {
        for (const id of ids) held.delete(id);
      }
    },
    fromNow: () => (seen = new Set(held)),
  };
}
