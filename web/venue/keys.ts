/** What the page does by key; nothing while a field is being edited. */
export interface KeyActions {
  readonly search: () => void;
  readonly interval: (at: number) => void;
  readonly help: () => void;
  readonly step: (by: 1 | -1) => void;
}

const WRITING: ReadonlySet<string> = new Set(['INPUT', 'TEXTAREA', 'SELECT']);

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (WRITING.has(target.tagName) || target.isContentEditable);

/** Rows and tabs that have the focus handle the arrow keys themselves. */
const hasOwnArrows = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('[role=tablist], tr[tabindex], dialog') !== null;

/** Returns how to stop listening. */
export function listenForKeys({ search, interval, help, step }: KeyActions): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(target)) return;
    if (key === '/') search();
    else if (key === '?') help();
    else if (/^[1-6]$/.test(key)) interval(Number(key) - 1);
    else if ((key === 'ArrowDown' || key === 'ArrowUp') && !hasOwnArrows(target)) step(key === 'ArrowDown' ? 1 : -1);
    else return;
    event.preventDefault();
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}
