/** Where a database server says it is, and what it holds of this replica's. */
export interface DatabasePosition {
  /** The system identifier of the server's data; null where the service does not give it. */
  readonly system: string | null;
  /** Another after each promotion of a standby; null where the service does not give it. */
  readonly timeline: string | null;
  /** How far its log of writes goes; null where the service does not give it. */
  readonly log: bigint | null;
  /** Random id created with the tables. */
  readonly instance: string;
  /** The last that this replica wrote; null if there is none. */
  readonly counter: bigint | null;
  /** The newest review that has not ended; 0 if none. */
  readonly openReview: bigint;
  /** The newest proven loss, 0 if none. */
  readonly loss: bigint;
}

/** What a replica had seen when it asked for the position. */
export interface SeenBefore {
  readonly position: Pick<DatabasePosition, 'system' | 'timeline' | 'log' | 'instance'>;
  /** The last counter that the database acknowledged; 0 if none. */
  readonly counter: bigint;
  /** The newest review that this replica took part in. */
  readonly review: bigint;
  readonly loss: bigint;
}

/** `joins`: another replica began, and nothing is to be done once it ended. */
export interface Suspicion {
  readonly reason: string;
  readonly joins: boolean;
}

/** Why the database may have lost commits; null if nothing speaks for it. A clean switchover changes the timeline too. */
export function suspicionOf(before: SeenBefore, now: DatabasePosition): Suspicion | null {
  const { position } = before;
  const own = (reason: string): Suspicion => ({ reason, joins: false });
  if (now.instance !== position.instance) return own('it is another database');
  if ((now.counter ?? 0n) < before.counter) return own('what this replica wrote is missing');
  const moved = movedServer(position, now);
  if (moved !== null) return own(moved);
  if (position.log !== null && now.log !== null && now.log < position.log) return own('its log of writes went back');
  return now.openReview > before.review || now.loss > before.loss ? { reason: 'another replica suspects it', joins: true } : null;
}

export type ServerName = Pick<DatabasePosition, 'system' | 'timeline'>;

/** Why this is not the server that it was; null if it is, or if one of them is not known. */
export function movedServer(before: ServerName, now: ServerName): string | null {
  if (isOther(before.system, now.system)) return 'it is another server';
  return isOther(before.timeline, now.timeline) ? 'another server was promoted' : null;
}

const isOther = (before: string | null, now: string | null): boolean => before !== null && now !== null && before !== now;

/** What a replica found missing of what the database had acknowledged to it. */
export interface MemoryReport {
  readonly replica: string;
  /** When the first and the last missing commit were acknowledged; null if everything is there. */
  readonly missing: { readonly from: number; readonly to: number } | null;
}

/** The reports of one review together. `covered`: what was acknowledged up to then is known to be lost. */
export function verdictOf(reports: readonly MemoryReport[], covered: number): { readonly from: number; readonly isNew: boolean } | null {
  const missing = reports.flatMap((report) => report.missing ?? []);
  if (missing.length === 0) return null;
  return { from: Math.min(...missing.map(({ from }) => from)), isNew: missing.some(({ to }) => to > covered) };
}
