/** Takes out of titles and descriptions what a reader cannot see but a model reads, and counts it everywhere else. */
import type { SourceTool } from "../source-tool.js";

/**
 * Never kept: control characters but tab and line feed; marks that turn the direction of text; zero-width and other
 * invisible characters; interlinear annotation; format characters of notations; lone halves of surrogate pairs.
 * Kept only where a script or an emoji needs them: joiners, variation selectors, tags.
 */
const NEVER_RANGES =
  "\\0-\\x08 \\v-\\x1f \\x7f-\\x9f \\u00ad \\u034f \\u061c \\u115f \\u1160 \\u17b4 \\u17b5 \\u180e \\u200b \\u200e \\u200f " +
  "\\u202a-\\u202e \\u2060-\\u206f \\u3164 \\ufeff \\uffa0 \\ufff0-\\ufffb \\u{1bca0}-\\u{1bca3} \\u{1d173}-\\u{1d17a} \\p{Cs}";
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

export interface SanitisedText {
  readonly text: string;
  /** How many characters were taken out, or replaced. */
  readonly removed: number;
}

/**
 * Removes characters that nobody sees. Joiners stay inside emoji and in the scripts that need them. What comes out
 * comes out the same if it is put in again.
 */
export function sanitiseText(text: string): SanitisedText {
  if (PLAIN_ASCII.test(text) || !SUSPICIOUS.test(text)) return { text, removed: 0 };
  // First everything that never stays: what is decided by its neighbours must see the neighbours it will have.
  const { kept, replaced, dropped } = dropNever(text);
  let result = "";
  let removed = replaced + dropped;
  let before = "";
  for (let index = 0; index < kept.length; ) {
    const character = kept[index]!;
    const flag =
      character === "\u{1f3f4}" ? TAGGED_FLAGS.find((tags) => startsWith(kept, index + 1, tags)) : undefined;
    if (flag !== undefined) {
      result += character + flag;
      index += 1 + [...flag].length;
      before = "\u{e007f}";
      continue;
    }
    index += 1;
    if (SOMETIMES.test(character) && !isNeeded(character, before, kept[index] ?? "")) removed += 1;
    else {
      result += character;
      before = character;
    }
  }
  return { text: result, removed };
}

function dropNever(text: string): { kept: string[]; replaced: number; dropped: number } {
  const kept: string[] = [];
  let replaced = 0;
  let dropped = 0;
  for (const character of text) {
    if (!NEVER.test(character)) kept.push(character);
    else if (/\p{Cs}/u.test(character)) {
      kept.push("\ufffd");
      replaced += 1;
    } else dropped += 1;
  }
  return { kept, replaced, dropped };
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

/** How many characters of a text {@link sanitiseText} would remove. */
const countSuspicious = (text: string): number => sanitiseText(text).removed;

export interface SuspiciousStrings {
  /** Characters that {@link sanitiseText} would remove, in all strings and keys together. */
  readonly count: number;
  /** JSON Pointers to the first strings and keys that have some. */
  readonly paths: readonly string[];
}

const MAX_PATHS = 20;
const MAX_PATH_LENGTH = 1_000;

/** Looks at every string and every key of a JSON value, such as a schema. Nothing is changed. */
export function findSuspicious(value: unknown): SuspiciousStrings {
  const paths: string[] = [];
  let count = 0;
  const look = (text: string, path: string): void => {
    const found = countSuspicious(text);
    if (found > 0 && paths.length < MAX_PATHS) paths.push(path);
    count += found;
  };
  const stack: { value: unknown; path: string }[] = [{ value, path: "" }];
  const seen = new Set<object>();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value: current, path } = next;
    if (typeof current === "string") look(current, path);
    if (typeof current !== "object" || current === null || seen.has(current)) continue;
    seen.add(current);
    const isArray = Array.isArray(current);
    for (const [key, child] of Object.entries(current).reverse()) {
      const childPath = path.length > MAX_PATH_LENGTH ? path : `${path}/${escapePointer(key)}`;
      if (!isArray) look(key, childPath);
      if (typeof child === "string" || typeof child === "object")
        stack.push({ value: child, path: childPath });
    }
  }
  return { count, paths };
}

const escapePointer = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** Where a tool's name and schemas hold such characters. They are reported only: what a server expects back stays as it is. */
export const suspiciousIn = ({
  sourceName: name,
  inputSchema,
  outputSchema,
}: Pick<SourceTool, "sourceName" | "inputSchema" | "outputSchema">): SuspiciousStrings =>
  findSuspicious({ name, inputSchema, outputSchema });

/** What a tool says to people. */
/** A text that has nothing to clean, or none at all. */
const isPlain = (text: unknown): boolean =>
  text === undefined || (typeof text === "string" && PLAIN_ASCII.test(text));

type ToolTexts = Pick<SourceTool, "title" | "description" | "annotations">;

/** Cleans a tool's description, its title and the title among its hints, and counts what it takes out. */
export function sanitiseTexts({ title, description, annotations }: ToolTexts): ToolTexts & {
  readonly removedCharacters: number;
} {
  // Nearly every tool has plain texts: nothing is made for them.
  if (isPlain(title) && isPlain(description) && isPlain(annotations?.title))
    return { title, description, annotations, removedCharacters: 0 };
  let removedCharacters = 0;
  const clean = (text: unknown): string | undefined => {
    if (typeof text !== "string") return undefined;
    const { text: cleaned, removed } = sanitiseText(text);
    removedCharacters += removed;
    return cleaned;
  };
  const cleaned = { title: clean(title), description: clean(description) };
  const hint = clean(annotations?.title);
  const hints =
    hint === undefined || hint === annotations?.title ? annotations : { ...annotations, title: hint };
  return { ...cleaned, annotations: hints, removedCharacters };
}
