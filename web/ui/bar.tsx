interface BarProps {
  /** 0 to 100. */
  readonly percent: number;
  readonly tone?: 'plain' | 'warn' | 'bad';
}

/** A bar beside a number that says the same. SVG: the policy forbids styles in elements, and a width is an attribute here. */
export function Bar({ percent, tone = 'plain' }: BarProps) {
  return (
    <svg class={`share ${tone}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="rail" width="100" height="8" rx="1" />
      <rect class="fill" width={Math.max(percent, percent > 0 ? 0.5 : 0)} height="8" rx="1" />
    </svg>
  );
}
