import { clock } from './clock.js';
import { CopyButton } from './copy.js';
import { formatAge, formatUtc, shortAddress } from './format.js';

/** `12 s ago`, with the moment in UTC as its title. */
export function Ago({ at }: { readonly at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={formatUtc(at)}>
      {formatAge(clock.value - at)} ago
    </time>
  );
}

/** 0x1234…abcd with the whole in the title and a button that copies it. */
export function Address({ value, label = 'Copy' }: { readonly value: string; readonly label?: string }) {
  return (
    <span class="address">
      <code title={value}>{shortAddress(value)}</code> <CopyButton text={value} label={label} />
    </span>
  );
}

/** A word in a frame whose colour only repeats what the word says. */
export function Chip({ tone, children }: { readonly tone: 'good' | 'bad' | 'warn' | 'plain'; readonly children: string }) {
  return <span class={`chip ${tone}`}>{children}</span>;
}
