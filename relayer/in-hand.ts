/** Jobs that somebody is busy with: whoever looks at all of them leaves these alone. */
export interface InHand {
  hold<Result>(ids: readonly bigint[], work: () => Promise<Result>): Promise<Result>;
  /** Those in hand from now on, kept up until the next call; who was only for a moment stays in it. What was read meanwhile of them is old. */
  fromNow(): ReadonlySet<bigint>;
}

export function createInHand(): InHand {
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
