import { exitCodeOf, VERDICTS, type Finding } from './finding.js';

const COLUMNS = ['check', 'expected', 'found', 'verdict'] as const;
/** Longer cells are wrapped. */
const WIDEST = { check: 32, expected: 44, found: 52, verdict: 11 } as const;

/** One block for each part. */
export function reportText(findings: readonly Finding[]): string {
  const parts = [...new Set(findings.map(({ part }) => part))];
  const widths = COLUMNS.map((column) => widthOf(findings, column));
  const head = { check: 'CHECK', expected: 'EXPECTED', found: 'FOUND', verdict: 'VERDICT' };
  const blocks = parts.map((part) => {
    const lines = findings.filter((one) => one.part === part).flatMap((finding) => linesOf(finding, widths));
    return [part, ...lines].join('\n');
  });
  return [linesOf(head, widths).join('\n'), ...blocks, summary(findings)].join('\n\n');
}

type Row = Readonly<Record<(typeof COLUMNS)[number], string>>;

const widthOf = (rows: readonly Row[], column: (typeof COLUMNS)[number]): number =>
  Math.max(column.length, ...rows.flatMap((row) => wrapped(row[column], WIDEST[column]).map(({ length }) => length)));

function linesOf(row: Row, widths: readonly number[]): string[] {
  const cells = COLUMNS.map((column) => wrapped(row[column], WIDEST[column]));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) => {
    const line = cells.map((cell, column) => (cell[at] ?? '').padEnd(widths[column] ?? 0)).join('  ');
    return `  ${line}`.trimEnd();
  });
}

function wrapped(text: string, widest: number): string[] {
  const rows: string[] = [];
  for (const word of text.split(' ')) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + word.length < widest) rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(word);
  }
  return rows;
}

const summary = (findings: readonly Finding[]): string =>
  VERDICTS.map((verdict) => `${findings.filter((one) => one.verdict === verdict).length} ${verdict}`).join(', ');

export const reportJson = (findings: readonly Finding[]): string => JSON.stringify({ exitCode: exitCodeOf(findings), findings }, null, 2);
