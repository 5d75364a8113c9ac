/** Shortens texts for models: needless white space, and cuts between words. All in linear time: servers write these texts. */

/**
 * The text without white space that says nothing: at line ends, around the text, as indentation of all lines, and as runs of blank
 * lines. Spaces inside a line stay if the text contains a code block.
 */
export function tidyText(text: string): string {
  if (!/^\s|\s\s|\s$/.test(text)) return text;
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.trimEnd());
  const common = commonIndentation(lines.slice(1));
  const kept = lines.filter((line, index) => line !== "" || lines[index - 1] !== "");
  const level = kept.map((line, index) => (index === 0 ? line : line.slice(common))).join("\n");
  return level.includes("```") ? level : level.replace(/(?<=\S) {2,}(?=\S)/g, " ");
}

function commonIndentation(lines: readonly string[]): number {
  let common = Number.POSITIVE_INFINITY;
  for (const line of lines) if (line !== "") common = Math.min(common, line.length - line.trimStart().length);
  return common;
}

/** The text cut to this many characters, between two words if possible, with "…" at the end. */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let end = characters - 1;
  while (end > characters / 2 && !/\s/.test(text[end]!)) end -= 1;
  // One long word, or a script without spaces: cut inside it, but not inside a surrogate pair.
  if (!/\s/.test(text[end]!)) end = characters - 1;
  if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}
