// A table of data: a caption, heads, rows; numbers on the right. What is too wide scrolls in itself.
import type { ComponentChildren } from "preact";

export interface Column {
  head: string;
  /** Figures stand on the right. */
  number?: boolean;
}

export interface Row {
  key: string;
  cells: readonly ComponentChildren[];
  strong?: boolean;
}

export function DataTable({ caption, columns, rows }: { caption: string; columns: readonly Column[]; rows: readonly Row[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>{columns.map(({ head, number }) => <th key={head} scope="col" class={number ? "number" : ""}>{head}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells, strong }) => (
            <tr key={key} class={strong ? "strong" : ""}>
              {cells.map((cell, at) => <td key={at} class={columns[at]?.number ? "number" : ""}>{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
