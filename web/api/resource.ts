import { signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Answer, Problem } from './request.js';

/** What a panel shows: loading without both, an error without data, and data that may be old. */
export interface Load<Data> {
  readonly data: Data | null;
  /** When the data arrived, by this browser's clock. */
  readonly at: number | null;
  /** Of the last attempt; with data it means that the data is no longer renewed. */
  readonly problem: Problem | null;
}

export const LOADING: Load<never> = { data: null, at: null, problem: null };

export const loaded = <Data>(data: Data): Load<Data> => ({ data, at: Date.now(), problem: null });

export interface Resource<Data> {
  readonly load: ReadonlySignal<Load<Data>>;
  readonly refresh: () => void;
}

const LONGEST_WAIT_MS = 60_000;

/** Reads again every so often while the page is visible; a refusal for too many requests is waited out. */
export function openResource<Data>(
  read: (abort: AbortSignal) => Promise<Answer<Data>>,
  everyMs: number | null,
): Resource<Data> & { stop(): void } {
  const load = signal<Load<Data>>(LOADING);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort = new AbortController();
  let isOver = false;

  const plan = (ms: number | null): void => {
    clearTimeout(timer);
    if (ms !== null && !isOver) timer = setTimeout(() => (document.hidden ? plan(ms) : run()), ms);
  };
  const run = (): void => {
    clearTimeout(timer);
    abort.abort();
    abort = new AbortController();
    const { signal: current } = abort;
    void read(current).then((answer) => {
      if (current.aborted) return;
      load.value = answer.ok ? loaded(answer.data) : { ...load.peek(), problem: answer.problem };
      const wait = answer.ok ? 0 : (answer.problem.retryAfterSeconds ?? 0) * 1000;
      plan(everyMs === null ? null : Math.min(Math.max(everyMs, wait), LONGEST_WAIT_MS));
    });
  };
  run();
  return {
    load,
    refresh: run,
    stop() {
      isOver = true;
      clearTimeout(timer);
      abort.abort();
    },
  };
}

/** The same for a component: read anew when `key` changes, ended with the component. */
export function useResource<Data>(
  key: string,
  read: (abort: AbortSignal) => Promise<Answer<Data>>,
  everyMs: number | null = null,
): Resource<Data> {
  const resource = useMemo(() => openResource(read, everyMs), [key]);
  useEffect(() => () => resource.stop(), [resource]);
  return resource;
}
