import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Problem } from '../api/request.js';
import type { Load } from '../api/resource.js';
import { clock } from './clock.js';
import { CopyButton } from './copy.js';
import { formatAge } from './format.js';

export interface PanelProps<Data> {
  readonly title: string;
  readonly load: Load<Data>;
  /** Rows of the skeleton, so that nothing moves when the data arrives. */
  readonly rows: number;
  readonly isEmpty?: (data: Data) => boolean;
  /** A sentence and the next action. */
  readonly empty?: ComponentChildren;
  /** Older data is dimmed and says its age. */
  readonly staleAfterMs?: number;
  /** True while the connection that renews the data is away. */
  readonly isCut?: boolean;
  readonly onRetry?: () => void;
  /** Beside the title. */
  readonly tools?: ComponentChildren;
  readonly class?: string;
  readonly children: (data: Data) => ComponentChildren;
}

/** A titled part of a page in one of its states: loading, empty, ready, stale, error. */
export function Panel<Data>(props: PanelProps<Data>) {
  const { title, load, rows, isEmpty, empty, onRetry, tools, children } = props;
  const id = useId();
  const { data, problem } = load;
  const age = staleAge(props);
  const state =
    data === null ? (problem === null ? 'loading' : 'error') : age !== null ? 'stale' : isEmpty?.(data) === true ? 'empty' : 'ready';
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id} data-state={state} aria-busy={state === 'loading'}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {age === null ? null : <span class="age">{age}</span>}
        <div class="panel-tools">{tools}</div>
      </div>
      {problem === null ? null : <ProblemNote problem={problem} {...(onRetry === undefined ? {} : { onRetry })} />}
      {data === null ? (
        problem === null && <Skeleton rows={rows} />
      ) : isEmpty?.(data) === true ? (
        <div class="empty">{empty}</div>
      ) : (
        <div class={age === null ? 'panel-body' : 'panel-body dimmed'}>{children(data)}</div>
      )}
    </section>
  );
}

/** The age to show, or null while the data is fresh. */
function staleAge<Data>({ load: { at, problem }, staleAfterMs, isCut }: PanelProps<Data>): string | null {
  if (at === null) return null;
  const isHeld = isCut === true || problem !== null;
  if (!isHeld && staleAfterMs === undefined) return null;
  const ms = clock.value - at;
  return isHeld || ms > (staleAfterMs ?? 0) ? `${formatAge(ms)} old` : null;
}

export function Skeleton({ rows }: { readonly rows: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <span key={at} class="bar" />
      ))}
    </div>
  );
}

/** A refusal on the stream is an answer, but has no request of its own. */
const isSilence = (code: string): boolean => code === 'NO_ANSWER' || code === 'NOT_REACHED';

/** Code, sentence, request id and retry. */
export function ProblemNote({ problem, onRetry }: { readonly problem: Problem; readonly onRetry?: () => void }) {
  const { code, message, requestId } = problem;
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{code}</strong> {message}
      </p>
      <p class="muted">
        {requestId === null ? (
          isSilence(code) && 'No answer arrived, so there is no request id.'
        ) : (
          <>
            Request id <code>{requestId}</code>
          </>
        )}{' '}
        {requestId === null ? null : <CopyButton text={requestId} label="Copy id" />}{' '}
        {onRetry === undefined ? null : (
          <button type="button" class="button small" onClick={onRetry}>
            Retry
          </button>
        )}
      </p>
    </div>
  );
}
