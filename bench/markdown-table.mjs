/** Lines of a Markdown table. */
export function markdownTable(headings, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(headings), `|${"---|".repeat(headings.length)}`, ...rows.map(line)];
}
