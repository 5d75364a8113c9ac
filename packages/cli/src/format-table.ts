/** Formats tables for the terminal. Columns are as wide as their widest cell; text that does not fit is wrapped at words. */

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
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text.replace(PAINT, ""))
    width += NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

const pad = (text: string, width: number, align: TableColumn["align"]): string => {
  const space = " ".repeat(Math.max(0, width - textWidth(text)));
  return align === "right" ? `${space}${text}` : `${text}${space}`;
};

/** The last column is wrapped if it keeps at least this width. Otherwise each cell gets a line of its own. */
const MIN_WIDTH = 20;
const GAP = "  ";

/**
 * The lines of a table. Cells may contain color codes; their text must already be free of control characters.
 *
 * @param width the width of the terminal; undefined: lines may have any length
 */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width?: number | undefined,
): string[] {
  const lines = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => textWidth(line[index] ?? ""))));
  return lines.flatMap((line, index) => formatRow(columns, line, { widths, width, isHead: index === 0 }));
}

/** A table of two columns without titles. */
export function formatPairs(
  rows: readonly (readonly [string, string])[],
  width?: number | undefined,
): string[] {
  const columns = [{ title: "" }, { title: "" }];
  const widths = columns.map((_, index) => Math.max(0, ...rows.map((row) => textWidth(row[index]!))));
  return rows.flatMap((row) => formatRow(columns, row, { widths, width, isHead: false }));
}

interface RowFormat {
  /** Widths of the columns. */
  readonly widths: readonly number[];
  readonly width: number | undefined;
  /** The row has the titles. */
  readonly isHead: boolean;
}

/** The lines of one row. Rows with the same widths form a table, so rows can be printed one at a time. */
export function formatRow(
  columns: readonly TableColumn[],
  line: readonly string[],
  { widths, width = Number.POSITIVE_INFINITY, isHead }: RowFormat,
): string[] {
  const start = widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0);
  const available = width - start;
  if (available < Math.min(MIN_WIDTH, widths.at(-1) ?? 0)) return isHead ? [] : stack(columns, line, width);
  const cells = columns.map(({ align }, index) => pad(line[index] ?? "", widths[index]!, align));
  const [first = "", ...more] = wrapWords(line[columns.length - 1] ?? "", available);
  // A right-aligned last column is never wrapped.
  const last = textWidth(cells.at(-1) ?? "") <= available ? (cells.at(-1) ?? "") : first;
  return [
    [...cells.slice(0, -1), last].join(GAP).trimEnd(),
    ...more.map((text) => `${" ".repeat(start)}${text}`),
  ];
}

/** A row for a narrow terminal: the first cell, then a line for each other cell. */
function stack(
  columns: readonly TableColumn[],
  [first = "", ...cells]: readonly string[],
  width: number,
): string[] {
  const others = cells.flatMap((text, index) => {
    if (text === "") return [];
    const title = columns[index + 1]!.title.replace(PAINT, "");
    const label = title === "" ? "" : `${title.toLowerCase()}: `;
    const [start, ...more] = wrapWords(text, Math.max(MIN_WIDTH / 2, width - label.length - 2));
    return [`  ${label}${start}`, ...more.map((part) => `    ${part}`)];
  });
  return [...wrapWords(first, width), ...others];
}

/**
 * Wraps a text at words. A word that is too long is cut, unless `keepsWords`: then it has a line of its own. A color that applies to
 * the whole text applies to each line.
 *
 * @example
 * ```ts
 * wrapWords("one two three", 8); // ["one two", "three"]
 * ```
 */
export function wrapWords(
  text: string,
  width: number,
  { keepsWords = false }: { keepsWords?: boolean } = {},
): string[] {
  if (textWidth(text) <= width) return [text];
  const [, before = "", inner = text, after = ""] = PAINTED.exec(text) ?? [];
  const lines: string[] = [];
  let line = "";
  for (const word of inner.split(/(?<=\S)\s+/)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (textWidth(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    const parts = keepsWords || textWidth(word) <= width ? [word] : cut(word, Math.max(1, width));
    lines.push(...parts.slice(0, -1));
    line = parts.at(-1) ?? "";
  }
  return [...lines, line].map((each) => `${before}${each}${after}`);
}

/** A text in one color. */
const PAINTED = /^(\u001b\[[0-9;]*m)([^\u001b]*)(\u001b\[[0-9;]*m)$/;

function cut(word: string, width: number): string[] {
  const parts: string[] = [""];
  for (const character of word.replace(PAINT, "")) {
    if (textWidth(parts.at(-1)! + character) > width) parts.push("");
    parts[parts.length - 1] += character;
  }
  return parts;
}
