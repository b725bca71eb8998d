/** Columns are as wide as their widest cell; numeric columns are right-aligned. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [heads, ...rows];
  const widths = heads.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  const isNumber = heads.map((_, at) => rows.length > 0 && rows.every((row) => /^(?:-?[\d.,]+(?: ?[a-z%]+)?|–)$/i.test(row[at] ?? '')));
  const line = (row: readonly string[]): string =>
    heads
      .map((_, at) => (isNumber[at] === true ? (row[at] ?? '').padStart(widths[at] ?? 0) : (row[at] ?? '').padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const NATIVE = 10n ** 18n;
const SHOWN = 10n ** 12n;

/** Six decimals, rounded down so that a balance is never overstated. */
export function coins(wei: string | null): string {
  if (wei === null || !/^\d+$/.test(wei)) return '–';
  const units = BigInt(wei);
  return `${units / NATIVE}.${((units % NATIVE) / SHOWN).toString().padStart(6, '0')}`;
}
