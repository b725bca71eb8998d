import { createHash } from 'node:crypto';
import type { LaneState } from './faults/fault-table.js';
import { readLimits, rewriteTimes, type SessionLimits } from './session-limits.js';

/** What the simulation has to know of a statement. The same texts come thousands of times, so each is read once. */
export interface StatementReading {
  /** The text for the server. */
  readonly rewritten: string;
  readonly digest: string;
  /** It may end a transaction or change rows, so that locks become free. */
  readonly isWrite: boolean;
  /** It changes rows, or begins or ends a transaction that does. */
  readonly belongsToWrite: boolean;
  readonly notifies: boolean;
  readonly listens: boolean;
  /** It does something that ends with the session, and not with the transaction. */
  readonly bindsSession: boolean;
  /** It chooses settings of the session. */
  readonly setsSession: boolean;
  /** It reads the server's clock, or a default or trigger of its tables does. */
  readonly asksTime: boolean;
  readonly changes: Partial<SessionLimits> | null;
  /** The state that it gives jobs of the relayer or their lane; null: none. */
  readonly leadsTo: LaneState | null;
}

/** Parts of the relayer's statements. */
const LEADS_TO: readonly (readonly [string, LaneState])[] = [
  ['insert into relay_jobs', 'queued'],
  ["update relay_jobs set state = 'assigned'", 'assigned'],
  ["then 'signed'", 'signed'],
  ['update relay_jobs set state = $', 'unknown'],
  ["update relay_jobs set state = 'unknown'", 'unknown'],
  ["update relay_jobs set state = 'accepted'", 'accepted'],
  ['insert into relay_lanes as lane (chain, wallet, next_nonce, blocked_since', 'blocked'],
];

/** Texts with values in them differ each time. */
const MOST_KEPT = 2_000;
const kept = new Map<string, StatementReading>();
const labels = new Map<string, string>();

export function readStatement(text: string): StatementReading {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const made: StatementReading = {
    rewritten: rewriteTimes(text),
    digest: digestOf(text.replace(/[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/g, 'id')),
    isWrite: /\b(?:insert|update|delete|commit|rollback|notify|pg_notify|pg_advisory_unlock|clock_timestamp|truncate)\b/i.test(text),
    belongsToWrite: /\b(?:insert|update|delete|commit|begin)\b/i.test(text),
    notifies: text.includes('notify'),
    listens: /^\s*listen\b/i.test(text),
    bindsSession: /^\s*(?:listen|set (?!local\b)\w+)|pg_backend_pid|pg_(?:try_)?advisory_lock\b|\btemp(?:orary)? table\b/i.test(text),
    setsSession: /set_config\('[\w.]+', '[^']*', false\)/.test(text),
    asksTime: /clock_timestamp|\b(?:insert into|update) "?(?:journal|orders|relay_jobs|deployment)\b/i.test(text),
    changes: readLimits(text),
    leadsTo: LEADS_TO.find(([part]) => text.includes(part))?.[1] ?? null,
  };
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(text, made);
  return made;
}

/** For the trace, without ids that differ from run to run. */
export function labelOf(statements: readonly StatementReading[]): string {
  const [only] = statements;
  if (only !== undefined && statements.length === 1) return only.digest;
  const all = statements.map(({ digest }) => digest).join(';');
  const known = labels.get(all) ?? digestOf(all);
  if (labels.size >= MOST_KEPT) labels.clear();
  labels.set(all, known);
  return known;
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 10);
