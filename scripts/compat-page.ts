import type { ClientReport } from '../facade/compat.js';

export const PAGE_BEGIN = '<!-- compatibility: written by `npm run compat` -->';
export const PAGE_END = '<!-- /compatibility -->';

/** The page for people: one line per flow, one column per client. */
export function compatPage(report: readonly ClientReport[], flows: readonly string[]): string {
  const heads = report.map(({ client, version }) => `${client} ${version}`);
  const rows = flows
    .filter((flow) => report.some((client) => outcome(client, flow) !== undefined))
    .map((flow) => [flow, ...report.map((client) => cell(outcome(client, flow)))]);
  const table = [['', ...heads], ['---', ...heads.map(() => '---')], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [PAGE_BEGIN, '', ...table, '', PAGE_END].join('\n');
}

const outcome = ({ flows }: ClientReport, name: string): boolean | undefined => flows.find(({ flow }) => flow === name)?.isPassed;

/** Empty where the client has no such thing, or nobody has tried it. */
const cell = (isPassed: boolean | undefined): string => (isPassed === undefined ? '' : isPassed ? 'pass' : '**fails**');

/** The text with the page in place of the one it has. */
export function withPage(text: string, page: string): string {
  const [begin, end] = [text.indexOf(PAGE_BEGIN), text.indexOf(PAGE_END)];
  if (begin < 0 || end < begin) throw new Error(`the marks of the page are missing: ${PAGE_BEGIN}`);
  return text.slice(0, begin) + page + text.slice(end + PAGE_END.length);
}
