/** Text in columns. */
import { stripVTControlCharacters } from "node:util";

export interface Column {
  readonly title: string;
  /** @default "left" */
  readonly align?: "left" | "right";
}

const widthOf = (text: string): number => stripVTControlCharacters(text).length;

/** The lines of a table, its head first. Cells may be coloured; colour has no width. */
export function formatTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const lines = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => widthOf(cells[index] ?? ""))));
  return lines.map((cells) =>
    columns
      .map(({ align }, index) => {
        const cell = cells[index] ?? "";
        const room = " ".repeat(widths[index]! - widthOf(cell));
        return align === "right" ? room + cell : cell + room;
      })
      .join("  ")
      .trimEnd(),
  );
}
