import { computed, effect, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
export const PALETTES = ['green-red', 'blue-orange'] as const;
export type Palette = (typeof PALETTES)[number];

/** Only these two words are kept in the browser; storage may be forbidden. */
const kept = <Word extends string>(key: string, words: readonly Word[], usual: Word): Word => {
  try {
    const word = localStorage.getItem(key);
    return words.find((one) => one === word) ?? usual;
  } catch {
    return usual;
  }
};
const keep = (key: string, word: string): void => {
  try {
    localStorage.setItem(key, word);
  } catch {
    // The choice lasts until the page is closed.
  }
};

export const theme = signal<Theme>(kept('theme', THEMES, 'system'));
export const palette = signal<Palette>(kept('palette', PALETTES, 'green-red'));

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(prefersDark.matches);
prefersDark.addEventListener('change', ({ matches }) => (systemIsDark.value = matches));

effect(() => {
  const { dataset } = document.documentElement;
  dataset['theme'] = theme.value === 'system' ? (systemIsDark.value ? 'dark' : 'light') : theme.value;
  dataset['palette'] = palette.value;
  keep('theme', theme.value);
  keep('palette', palette.value);
});

export const isDark = (): boolean => (theme.value === 'system' ? systemIsDark.value : theme.value === 'dark');

/** Changes whenever colours do. */
export const look = computed(() => `${isDark() ? 'dark' : 'light'} ${palette.value}`);

/** The colours in force, for drawings that no style sheet reaches. */
export function inkOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
