/** Text from servers on its way to a terminal: whatever could move the cursor, change colours or hide is made visible. */

/** C0 and C1 controls but line feed and tab, deletion, line separators, and what turns the direction of text around. */
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/**
 * Makes a text safe to print.
 *
 * @example
 * ```ts
 * plainText("\u001b[31mred"); // "\\x1b[31mred"
 * ```
 */
export function plainText(text: string): string {
  return text.replace(UNSAFE, (character) => {
    if (character === "\r") return "";
    const code = character.codePointAt(0)!;
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** The same on one line, no longer than `width`. */
export function oneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = plainText(text).replace(/\s+/g, " ").trim();
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/**
 * JSON that is safe to print: what is unsafe stands only inside strings, where it can be spelled out.
 *
 * @param space as for `JSON.stringify`; none: one line
 */
export function plainJson(value: unknown, space?: number): string {
  return (JSON.stringify(value, undefined, space) ?? "null").replace(UNSAFE, (character) =>
    Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
      .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
