import { useSignal } from '@preact/signals';
import { Fragment, type ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Column } from './table.js';

export interface UnfoldingTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Names the row for its button: `Timeline of order 12`. */
  readonly unfoldLabel: (row: Row) => string;
  readonly classOf?: (row: Row) => string;
  /** Made only for the row that is open. */
  readonly detail: (row: Row) => ComponentChildren;
}

const cellClass = <Row,>({ isNumber, isMinor }: Column<Row>): string =>
  [isNumber === true ? 'number' : '', isMinor === true ? 'minor' : ''].filter(Boolean).join(' ');

/** A table whose rows open beneath themselves, one at a time. A click anywhere on the row does it, and a button for the keyboard. */
export function UnfoldingTable<Row>({ label, columns, rows, keyOf, unfoldLabel, classOf, detail }: UnfoldingTableProps<Row>) {
  const open = useSignal<string | null>(null);
  const id = useId();
  return (
    <div class="table-frame" role="group" aria-label={`${label}, scrolls`} tabIndex={0}>
      <table class="table unfolding" aria-label={label}>
        <thead>
          <tr>
            <th scope="col" class="unfold">
              <span class="offscreen">Details</span>
            </th>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={cellClass(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = keyOf(row);
            const isOpen = open.value === key;
            const toggle = (): void => void (open.value = isOpen ? null : key);
            return (
              <Fragment key={key}>
                <tr class={`${isOpen ? 'chosen' : ''} ${classOf?.(row) ?? ''}`} data-row={key} onClick={toggle}>
                  <td class="unfold">
                    <button
                      type="button"
                      class="unfold-button"
                      aria-expanded={isOpen}
                      aria-controls={`${id}-${key}`}
                      aria-label={unfoldLabel(row)}
                      onClick={(event) => {
                        event.stopPropagation();
                        toggle();
                      }}
                    >
                      {isOpen ? '▾' : '▸'}
                    </button>
                  </td>
                  {columns.map((column) => (
                    <td key={column.name} class={cellClass(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
                {isOpen ? (
                  <tr class="detail" id={`${id}-${key}`}>
                    <td colSpan={columns.length + 1}>{detail(row)}</td>
                  </tr>
                ) : null}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
