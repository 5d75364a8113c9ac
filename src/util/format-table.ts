/** Formats tables for the terminal. Columns are as wide as their widest cell. */

export interface TableColumn {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** Characters that occupy two terminal columns (East Asian, emoji) or none (combining). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const NONE = /\p{Mn}|\p{Me}|[\u200b-\u200d]|\ufe0e|\ufe0f/u;
const PAINT = /\u001b\[[0-9;]*m/g;

/** Width in terminal columns, without color codes. */
function textWidth(text: string): number {
  let width = 0;
  for (const character of text.replace(PAINT, ""))
    width += NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

const pad = (text: string, width: number, align: TableColumn["align"]): string => {
  const space = " ".repeat(Math.max(0, width - textWidth(text)));
  return align === "right" ? `${space}${text}` : `${text}${space}`;
};

/** The lines of a table. Cells may contain color codes; their text must already be free of control characters. */
export function formatTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string[] {
  const lines = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => textWidth(line[index] ?? ""))));
  return lines.map((line) =>
    columns
      .map(({ align }, index) => pad(line[index] ?? "", widths[index]!, align))
      .join("  ")
      .trimEnd(),
  );
}
