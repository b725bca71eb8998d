import { z } from 'zod';

/** Pages that a deployment can switch off. The operator's page is not among them: it exists where the operator's routes exist. */
export const PUBLIC_PAGES = ['venue', 'connect', 'account'] as const;
export type PublicPage = (typeof PUBLIC_PAGES)[number];

const NONE = 'none';
const isPage = (name: string): name is PublicPage => PUBLIC_PAGES.some((page) => page === name);

/** `venue,connect,account` or a part of it, or `none`. */
const Pages = z.string().transform((text, context): readonly PublicPage[] => {
  const names = text.split(',').map((name) => name.trim());
  if (names.length === 1 && names[0] === NONE) return [];
  const pages = names.filter(isPage);
  if (pages.length === names.length && new Set(pages).size === pages.length) return pages;
  const message =
    text === '' ? `is empty: write ${NONE}` : `must name pages (${PUBLIC_PAGES.join(', ')}) separated by commas, each once, or be ${NONE}`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** The same for production and sandbox. */
export const PAGE_VARIABLES = { PAGES: Pages.prefault(PUBLIC_PAGES.join(',')) };
