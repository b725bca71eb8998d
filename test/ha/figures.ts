/** What one run of a scenario showed. Times in ms. */
export interface Figures {
  readonly scenario: string;
  readonly sent: number;
  readonly resting: number;
  readonly refused: number;
  readonly unknown: number;
  /** Answered as standing, not sent in time, and shown as rejected since. */
  readonly expired: number;
  /** Answered as standing, not on chain, and nothing was said since but that commits were lost. */
  readonly lost: number;
  readonly doubled: number;
  /** Answered as standing or found on chain, and nothing says why. */
  readonly unexplained: number;
  /** Answered as refused, and on chain. */
  readonly contradicted: number;
  readonly alarm: string;
  /** From the event until a server takes writes again. */
  readonly writes: number;
  /** From then until the relayer sends a transaction. */
  readonly signs: number;
  /** From then until an order that was sent since is answered as standing. */
  readonly answers: number;
  /** From the event until a transaction is sent after it. */
  readonly total: number;
  /** The longest time without a new transaction of the wallet. */
  readonly pause: number;
  /** Processes that wanted to run, for each processor. */
  readonly load: number;
}

const COLUMNS = [
  ...(['scenario', 'sent', 'resting', 'refused', 'unknown', 'expired', 'lost', 'doubled', 'unexplained', 'contradicted', 'alarm'] as const),
  ...(['writes', 'signs', 'answers', 'total', 'pause', 'load'] as const),
];

const cellOf = (value: string | number, column: string): string => {
  return typeof value === 'number' && ['writes', 'signs', 'answers', 'total', 'pause'].includes(column)
    ? `${(value / 1_000).toFixed(1)} s`
    : String(value);
};

/** As a Markdown table, so that it can be put into the documentation. */
export function tableOf(rows: readonly Figures[]): string {
  const cells = [[...COLUMNS] as string[], ...rows.map((row) => COLUMNS.map((column) => cellOf(row[column], column)))];
  const widths = COLUMNS.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const lineOf = (row: readonly string[]): string => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...rest] = cells;
  return [lineOf(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest.map(lineOf)].join('\n');
}
