/** A table of texts from servers, on stdout. */
import { formatTable } from "../util/format-table.js";
import type { Shell } from "./shell.js";
import { cell } from "./table-cell.js";

/** Every cell is made plain and put on one line; the first column stands out. */
export function printRows(
  shell: Shell,
  titles: readonly string[],
  rows: readonly (readonly unknown[])[],
): void {
  const [head, ...lines] = formatTable(
    titles.map((title) => ({ title })),
    rows.map((row) =>
      row.map((value, index) => (index === 0 ? shell.paint("bold", cell(value)) : cell(value))),
    ),
  );
  shell.printPainted([shell.paint("dim", head!), ...lines]);
}
