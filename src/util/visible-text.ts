/** Text from servers, made safe to show: what a reader cannot see, or what could steer a terminal, is taken out or spelled out. */

/**
 * Never kept: control characters but tab and line feed; marks that change the direction of text; zero-width and other
 * invisible characters; format characters of annotations, notations and hieroglyphs; lone halves of surrogate pairs.
 * Kept only where a script or an emoji needs them: joiners, variation selectors, tags.
 */
const NEVER_RANGES =
  "\\0-\\x08 \\v-\\x1f \\x7f-\\x9f \\u00ad \\u034f \\u061c \\u115f \\u1160 \\u17b4 \\u17b5 \\u180e \\u200b \\u200e \\u200f " +
  "\\u202a-\\u202e \\u2060-\\u206f \\u3164 \\ufeff \\uffa0 \\ufff0-\\ufffb \\u{13430}-\\u{1343f} \\u{1bca0}-\\u{1bca3} " +
  "\\u{1d173}-\\u{1d17a} \\p{Cs}";
const SOMETIMES_RANGES = "\\u180b-\\u180d \\u180f \\u200c \\u200d \\ufe00-\\ufe0f \\u{e0000}-\\u{e0fff}";
/** Written as text, because linters take joiners in a class for parts of one character. */
const oneOf = (ranges: string): RegExp => new RegExp(`[${ranges.replaceAll(" ", "")}]`, "u");
const NEVER = oneOf(NEVER_RANGES);
const SOMETIMES = oneOf(SOMETIMES_RANGES);
const SUSPICIOUS = oneOf(NEVER_RANGES + SOMETIMES_RANGES);
const PLAIN_ASCII = /^[\t\n\x20-\x7e]*$/;

const ZWNJ = "\u200c";
const ZWJ = "\u200d";
const KEYCAP = "\u20e3";
/** The flags of England, Scotland and Wales, the only emoji spelt with tags; any other run of tags is a message. */
const TAGGED_FLAGS = ["gbeng", "gbsct", "gbwls"].map(
  (region) =>
    `${[...region].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("")}\u{e007f}`,
);

const PICTOGRAPH = /^\p{Extended_Pictographic}$/u;
const EMOJI_END = /^(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f)$/u;
const MONGOLIAN = /^\p{Script=Mongolian}$/u;
/** Scripts whose letters join, or form clusters, that a joiner makes or breaks. */
const JOINING = new RegExp(
  `^[${"Arab Syrc Nkoo Mong Mand Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr Tibt Bali Java"
    .split(" ")
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join("")}]$`,
  "u",
);
const VIRAMA =
  /^[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0f84\u1039\u103a\u17d2\u1b44\ua9c0]$/u;

/** Whether a text is printable ASCII with line feeds and tabs, so that nothing can be hidden in it. */
export const isPlainAscii = (text: string): boolean => PLAIN_ASCII.test(text);

/** Whether a character never stays, wherever it stands. */
export const isNeverShown = (character: string): boolean => NEVER.test(character);

/**
 * Calls `replace` for each character that a reader cannot see. Joiners, selectors and tags stay where an emoji or a script
 * needs them. Line feeds and tabs stay.
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
  /** The last character that stayed; none if something else was written since. */
  let before = "";
  for (let index = 0; index < characters.length; ) {
    const character = characters[index]!;
    const flag =
      character === "\u{1f3f4}"
        ? TAGGED_FLAGS.find((tags) => startsWith(characters, index + 1, tags))
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

function startsWith(characters: readonly string[], start: number, tags: string): boolean {
  return [...tags].every((tag, offset) => characters[start + offset] === tag);
}

/** Whether one of {@link SOMETIMES} does its proper work between its neighbours. */
function isNeeded(character: string, before: string, after: string): boolean {
  if (character === ZWJ || character === ZWNJ) {
    if (character === ZWJ && EMOJI_END.test(before) && PICTOGRAPH.test(after)) return true;
    // What follows must be sure to stay, or the answer would be another the next time.
    return VIRAMA.test(before) || (JOINING.test(before) && JOINING.test(after) && !SOMETIMES.test(after));
  }
  if (character === "\ufe0e" || character === "\ufe0f") {
    if (/^[0-9#*]$/.test(before)) return after === KEYCAP;
    return PICTOGRAPH.test(before);
  }
  return MONGOLIAN.test(before) && MONGOLIAN.test(character) && !SOMETIMES.test(before);
}

/** A hidden character as an escape. */
function spellOut(character: string): string {
  const code = character.codePointAt(0)!;
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/**
 * Makes a text of any number of lines safe to print.
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
 * The same on one line: line breaks and tabs are spelled out too, so that a name cannot pretend to be the next line.
 *
 * @example
 * ```ts
 * visibleLine("a\nwarning: b"); // "a\\nwarning: b"
 * ```
 */
export const visibleLine = (text: string): string =>
  visibleText(text).replace(/[\n\t]/g, (character) => (character === "\n" ? "\\n" : "\\t"));
