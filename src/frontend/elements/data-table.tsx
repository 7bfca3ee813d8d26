/** A table of which only the rows on screen exist: 100 000 rows scroll as smoothly as ten. */
import { useMemo, useRef, useState } from 'react';

export const ROW_HEIGHT = 28;
/** Rows drawn beyond the edge, so that a fast wheel does not show blanks. */
const MARGIN = 8;

export type Column<T> = {
  id: string;
  title: string;
  /** A CSS grid track, e.g. `minmax(80px, 1fr)`. */
  width: string;
  align?: 'end';
  render: (row: T) => React.ReactNode;
  /** What is sorted by; absent: the column cannot be sorted. */
  sort?: (row: T) => string | number;
};

export type Sorting = { column: string; descending: boolean };

/** The rows in the wanted order; equal ones keep theirs. */
export function sorted<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  sorting: Sorting
): readonly T[] {
  const by = columns.find(column => column.id === sorting.column)?.sort;
  if (by === undefined) {
    return rows;
  }
  const sign = sorting.descending ? -1 : 1;
  return rows
    .map((row, index) => ({ row, index, key: by(row) }))
    .sort(
      (a, b) =>
        sign *
          (typeof a.key === 'number' && typeof b.key === 'number'
            ? a.key - b.key
            : a.key < b.key
              ? -1
              : a.key > b.key
                ? 1
                : 0) || a.index - b.index
    )
    .map(({ row }) => row);
}

export function DataTable<T>(props: {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  initialSort: Sorting;
  selected?: ReadonlySet<string>;
  onSelect?: (key: string, isAdding: boolean) => void;
  empty: string;
}): React.JSX.Element {
  const { columns, keyOf, rows, selected, onSelect } = props;
  const [sorting, setSorting] = useState(props.initialSort);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const observer = useRef<ResizeObserver | null>(null);
  const ordered = useMemo(
    () => sorted(rows, columns, sorting),
    [rows, columns, sorting]
  );
  const measure = (node: HTMLDivElement | null): void => {
    observer.current?.disconnect();
    observer.current = null;
    if (node !== null && typeof ResizeObserver !== 'undefined') {
      observer.current = new ResizeObserver(() => {
        setHeight(node.clientHeight);
      });
      observer.current.observe(node);
    }
  };
  const measured = useRef(measure);
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN);
  const count = Math.ceil(height / ROW_HEIGHT) + 2 * MARGIN;
  const shown = ordered.slice(first, first + count);
  const style = {
    gridTemplateColumns: columns.map(column => column.width).join(' '),
    minWidth: columns.reduce((sum, column) => sum + leastWidth(column), 24)
  };
  return (
    <div
      className="jp-MusterTable"
      role="table"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      ref={measured.current}
      tabIndex={0}
      onScroll={event => {
        setTop(event.currentTarget.scrollTop);
      }}
    >
      <div
        className="jp-MusterTable-head"
        role="row"
        aria-rowindex={1}
        style={style}
      >
        {columns.map(column => (
          <HeadCell
            key={column.id}
            column={column}
            sorting={sorting}
            onSort={setSorting}
          />
        ))}
      </div>
      <div
        role="rowgroup"
        className="jp-MusterTable-body"
        style={{ height: ordered.length * ROW_HEIGHT }}
      >
        {shown.map((row, index) => {
          const key = keyOf(row);
          return (
            <div
              key={key}
              role="row"
              className="jp-MusterTable-row"
              aria-rowindex={first + index + 2}
              {...(selected === undefined
                ? {}
                : { 'aria-selected': selected.has(key) })}
              style={{
                ...style,
                transform: `translateY(${(first + index) * ROW_HEIGHT}px)`
              }}
              onClick={event => {
                onSelect?.(
                  key,
                  event.ctrlKey || event.metaKey || event.shiftKey
                );
              }}
            >
              {columns.map(column => (
                <span
                  key={column.id}
                  role="cell"
                  className={column.align === 'end' ? 'jp-mod-end' : ''}
                >
                  {column.render(row)}
                </span>
              ))}
            </div>
          );
        })}
      </div>
      {rows.length === 0 ? (
        <p className="jp-MusterHint">{props.empty}</p>
      ) : null}
    </div>
  );
}

/** Pixels below which the table scrolls sideways rather than squeeze the column. */
function leastWidth<T>(column: Column<T>): number {
  return Number(/(\d+)px/.exec(column.width)?.[1] ?? 0);
}

function HeadCell<T>(props: {
  column: Column<T>;
  sorting: Sorting;
  onSort: (sorting: Sorting) => void;
}): React.JSX.Element {
  const { column, sorting } = props;
  const isSorted = sorting.column === column.id;
  const className = column.align === 'end' ? 'jp-mod-end' : '';
  if (column.sort === undefined) {
    return (
      <span role="columnheader" className={className}>
        {column.title}
      </span>
    );
  }
  return (
    <span
      role="columnheader"
      className={className}
      aria-sort={
        isSorted ? (sorting.descending ? 'descending' : 'ascending') : 'none'
      }
    >
      <button
        type="button"
        onClick={() => {
          props.onSort({
            column: column.id,
            descending: isSorted && !sorting.descending
          });
        }}
      >
        {column.title}
        <span aria-hidden="true">
          {isSorted ? (sorting.descending ? ' ↓' : ' ↑') : ''}
        </span>
      </button>
    </span>
  );
}
