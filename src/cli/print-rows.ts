/** Prints a table of texts from servers on stdout. */
import { formatTable } from "../util/format-table.js";
import type { CommandContext } from "./command-context.js";
import { cell } from "./plain-text.js";

/** Escapes every cell to one line and prints the first column in bold. */
export function printRows(
  context: CommandContext,
  titles: readonly string[],
  rows: readonly (readonly unknown[])[],
): void {
  const [head, ...lines] = formatTable(
    titles.map((title) => ({ title })),
    rows.map((row) =>
      row.map((value, index) => (index === 0 ? context.paint("bold", cell(value)) : cell(value))),
    ),
  );
  context.printPainted([context.paint("dim", head!), ...lines]);
}
