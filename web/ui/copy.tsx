import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const SHOWN_MS = 1_600;

/** Copies a text and says so, also to screen readers. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const said = useSignal<'' | 'Copied' | 'Not allowed'>('');
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const show = (word: 'Copied' | 'Not allowed'): void => {
    said.value = word;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => (said.value = ''), SHOWN_MS);
  };
  const copy = (): void => void copyText(text).then((isCopied) => show(isCopied ? 'Copied' : 'Not allowed'));
  return (
    <button type="button" class="button small" onClick={copy} aria-label={label === 'Copy' ? 'Copy to the clipboard' : label}>
      <span aria-live="polite">{said.value === '' ? label : said.value}</span>
    </button>
  );
}

/** Browsers offer the clipboard to secure pages only; a page served over plain HTTP from another machine selects and copies instead. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    // oxlint-disable-next-line typescript/no-deprecated -- the only way on a page without the clipboard
    const isCopied = document.execCommand('copy');
    area.remove();
    return isCopied;
  }
}
