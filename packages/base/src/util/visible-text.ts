/** Makes text from servers safe to display: removes or escapes invisible characters and terminal control sequences. */

/**
 * Never kept: control characters except tab and line feed; marks that change the direction of text; zero-width and other
 * invisible characters; format characters of annotations, notations and hieroglyphs; lone surrogates.
 * Kept only where a script or an emoji needs them: joiners, variation selectors, tags.
 */
const NEVER_RANGES =
  "\\0-\\x08 \\v-\\x1f \\x7f-\\x9f \\u00ad \\u034f \\u061c \\u115f \\u1160 \\u17b4 \\u17b5 \\u180e \\u200b \\u200e \\u200f " +
  "\\u202a-\\u202e \\u2060-\\u206f \\u3164 \\ufeff \\uffa0 \\ufff0-\\ufffb \\u{13430}-\\u{1343f} \\u{1bca0}-\\u{1bca3} " +
  "\\u{1d173}-\\u{1d17a} \\p{Cs}";
const SOMETIMES_RANGES = "\\u180b-\\u180d \\u180f \\u200c \\u200d \\ufe00-\\ufe0f \\u{e0000}-\\u{e0fff}";
/** Built from strings: linters reject joiners in a character class. */
const oneOf = (ranges: string): RegExp => new RegExp(`[${ranges.replaceAll(" ", "")}]`, "u");
const NEVER = oneOf(NEVER_RANGES);
const SOMETIMES = oneOf(SOMETIMES_RANGES);
const SUSPICIOUS = oneOf(NEVER_RANGES + SOMETIMES_RANGES);
const PLAIN_ASCII = /^[\t\n\x20-\x7e]*$/;

const ZWNJ = "\u200c";
const ZWJ = "\u200d";
const KEYCAP = "\u20e3";
/** The flags of England, Scotland and Wales, the only emoji with tags. Other tags can hide a message. */
const TAGGED_FLAGS = ["gbeng", "gbsct", "gbwls"].map(
  (region) =>
    `${[...region].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("")}\u{e007f}`,
);

const PICTOGRAPH = /^\p{Extended_Pictographic}$/u;
const EMOJI_END = /^(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f)$/u;
const MONGOLIAN = /^\p{Script=Mongolian}$/u;
/** Scripts in which joiners change how letters join or form clusters. */
const JOINING = new RegExp(
  `^[${"Arab Syrc Nkoo Mong Mand Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr Tibt Bali Java"
    .split(" ")
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join("")}]$`,
  "u",
);
const VIRAMA =
  /^[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0f84\u1039\u103a\u17d2\u1b44\ua9c0]$/u;

/**
 * Calls `replace` for each hidden character. Keeps joiners, selectors and tags where an emoji or a script needs them, and line
 * feeds and tabs.
 *
 * @example
 * ```ts
 * replaceHidden("a\u200bb", () => ""); // "ab"
 * ```
 */
export function replaceHidden(text: string, replace: (character: string) => string): string {
  if (PLAIN_ASCII.test(text) || !SUSPICIOUS.test(text)) return text;
  const characters = [...text];
  let result = "";
  /** The last kept character; empty after a replacement. */
  let before = "";
  for (let index = 0; index < characters.length; ) {
    const character = characters[index]!;
    const flag =
      character === "\u{1f3f4}"
        ? TAGGED_FLAGS.find((tags) => [...tags].every((tag, at) => characters[index + 1 + at] === tag))
        : undefined;
    if (flag !== undefined) {
      result += character + flag;
      index += 1 + [...flag].length;
      before = "\u{e007f}";
      continue;
    }
    index += 1;
    const isHidden =
      NEVER.test(character) ||
      (SOMETIMES.test(character) && !isNeeded(character, before, characters[index] ?? ""));
    const shown = isHidden ? replace(character) : character;
    result += shown;
    if (shown !== "") before = isHidden ? "" : character;
  }
  return result;
}

/** Whether the neighbours of a character of {@link SOMETIMES} need it. */
function isNeeded(character: string, before: string, after: string): boolean {
  if (character === ZWJ || character === ZWNJ) {
    if (character === ZWJ && EMOJI_END.test(before) && PICTOGRAPH.test(after)) return true;
    // The next character must certainly be kept, or a second pass would give another result.
    return VIRAMA.test(before) || (JOINING.test(before) && JOINING.test(after) && !SOMETIMES.test(after));
  }
  if (character === "\ufe0e" || character === "\ufe0f") {
    if (/^[0-9#*]$/.test(before)) return after === KEYCAP;
    return PICTOGRAPH.test(before);
  }
  return MONGOLIAN.test(before) && MONGOLIAN.test(character) && !SOMETIMES.test(before);
}

/** The escape sequence of a hidden character. */
function spellOut(character: string): string {
  const code = character.codePointAt(0)!;
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/**
 * Makes multi-line text safe to print.
 *
 * @example
 * ```ts
 * visibleText("\u001b[31mred\u200b"); // "\\x1b[31mred\\u{200b}"
 * ```
 */
export function visibleText(text: string): string {
  if (PLAIN_ASCII.test(text)) return text;
  return replaceHidden(text, (character) => (character === "\r" ? "" : spellOut(character))).replace(
    /[\u2028\u2029]/g,
    spellOut,
  );
}

/**
 * Like {@link visibleText} on one line: escapes line breaks and tabs too, so that a name cannot fake another line.
 *
 * @example
 * ```ts
 * visibleLine("a\nwarning: b"); // "a\\nwarning: b"
 * ```
 */
export const visibleLine = (text: string): string =>
  visibleText(text).replace(/[\n\t]/g, (character) => (character === "\n" ? "\\n" : "\\t"));

interface SanitisedText {
  readonly text: string;
  /** Number of characters removed or replaced. */
  readonly removed: number;
}

/**
 * Removes characters that a reader cannot see. Joiners stay inside emoji and in the scripts that need them. Idempotent.
 */
export function sanitiseText(text: string): SanitisedText {
  if (PLAIN_ASCII.test(text)) return { text, removed: 0 };
  let removed = 0;
  // Remove unconditional characters first, because the others depend on their remaining neighbours.
  let kept = "";
  for (const character of text) {
    if (!NEVER.test(character)) kept += character;
    else {
      removed += 1;
      if (/\p{Cs}/u.test(character)) kept += "\ufffd";
    }
  }
  const result = replaceHidden(kept, () => {
    removed += 1;
    return "";
  });
  return { text: result, removed };
}

const ESCAPE_SEQUENCES =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]/g;
/** C0 and C1 controls except tab and newline, and characters that reorder or hide text. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Removes escape sequences and control characters; line endings become `
`. */
export function toPlainText(text: string): string {
  return text.replace(ESCAPE_SEQUENCES, "").replace(/\r\n?/g, "\n").replace(CONTROLS, "");
}
