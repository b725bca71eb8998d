import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  /** Numbers stand to the right. */
  readonly isNumber?: boolean;
  /** Left out on a phone. */
  readonly isMinor?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

export interface TableProps<Row> {
  /** For screen readers; the panel's title is enough for other readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly isChosen?: (row: Row) => boolean;
  /** Makes rows buttons: a click, or Enter on the focused row. Arrow keys move the focus. */
  readonly onChoose?: (row: Row) => void;
}

const classOf = ({ isNumber, isMinor }: { readonly isNumber?: boolean; readonly isMinor?: boolean }): string =>
  [isNumber === true ? 'number' : '', isMinor === true ? 'minor' : ''].filter(Boolean).join(' ');

export function Table<Row>({ label, columns, rows, keyOf, isChosen, onChoose }: TableProps<Row>) {
  const chosen = rows.findIndex((row) => isChosen?.(row) === true);
  return (
    <div class="table-frame" {...(onChoose === undefined ? { role: 'group', 'aria-label': `${label}, scrolls`, tabIndex: 0 } : {})}>
      <table class="table" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr
              key={keyOf(row)}
              class={at === chosen ? 'chosen' : ''}
              {...(onChoose === undefined
                ? {}
                : {
                    tabIndex: at === Math.max(chosen, 0) ? 0 : -1,
                    'aria-selected': at === chosen,
                    onClick: () => onChoose(row),
                    onKeyDown: (event: KeyboardEvent) => onRowKey(event, () => onChoose(row)),
                  })}
            >
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function onRowKey(event: KeyboardEvent, choose: () => void): void {
  const row = event.currentTarget as HTMLElement;
  if (event.key === 'Enter' || event.key === ' ') choose();
  else if (event.key === 'ArrowDown') (row.nextElementSibling as HTMLElement | null)?.focus();
  else if (event.key === 'ArrowUp') (row.previousElementSibling as HTMLElement | null)?.focus();
  else return;
  event.preventDefault();
}
