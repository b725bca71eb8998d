import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly title: string;
  /** Beside the title; absent while it is not known. */
  readonly count?: string | undefined;
}

export interface TabsProps<Name extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<Name>[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
  /** What the chosen tab shows. */
  readonly children: ComponentChildren;
}

/** Tabs by the pattern of screen readers: one stop of the Tab key, arrows between them. */
export function Tabs<Name extends string>({ label, tabs, chosen, onChoose, children }: TabsProps<Name>) {
  const id = useId();
  const row = useRef<HTMLDivElement>(null);
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex(({ name }) => name === chosen);
    const next = (at + step + tabs.length) % tabs.length;
    const target = tabs[next];
    if (target === undefined) return;
    event.preventDefault();
    onChoose(target.name);
    row.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div class="tabbed">
      <div ref={row} class="tab-row" role="tablist" aria-label={label} onKeyDown={onKey}>
        {tabs.map(({ name, title, count }) => (
          <button
            key={name}
            type="button"
            class="tab"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {title}
            {count === undefined ? null : <span class="count">{count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </div>
  );
}
