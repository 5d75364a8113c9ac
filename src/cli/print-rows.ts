/** Prints a table of texts from servers on stdout. */
import { formatTable, type TableColumn } from "../util/format-table.js";
import type { CommandContext } from "./command-context.js";
import { cell } from "./plain-text.js";

/** Escapes every cell to one line and prints the first column in bold. */
export function printRows(
  context: CommandContext,
  titles: readonly (string | TableColumn)[],
  rows: readonly (readonly unknown[])[],
): void {
  const paintTitle = (column: TableColumn) => ({ ...column, title: context.paint("dim", column.title) });
  const lines = formatTable(
    titles.map((title) => paintTitle(typeof title === "string" ? { title } : title)),
    rows.map((row) =>
      row.map((value, index) => (index === 0 ? context.paint("bold", cell(value)) : cell(value))),
    ),
    context.columns,
  );
  context.printPainted(lines);
}
