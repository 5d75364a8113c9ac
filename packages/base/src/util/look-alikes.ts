/** Look-alike letters: compares names by their look, and transliterates names to ASCII. */

/**
 * For every ASCII letter, the letters of other scripts that look like it (Cyrillic, Greek, Armenian, Cherokee, Lisu, small
 * capitals, dotless and barred Latin). NFKC handles full-width, mathematical, circled and ligature forms. Selected
 * from https://www.unicode.org/Public/security/latest/confusables.txt; escaped, so that a reviewer can tell them apart.
 */
const ALIKE: Readonly<Record<string, string>> = {
  a: "\u0430\u0410\u03b1\u0391\u0251\u237a\u13aa\ua4ee\u1d00",
  b: "\u0412\u0432\u042c\u044c\u0392\u13f4\ua4d0\u0299",
  c: "\u0441\u0421\u03f2\u03f9\u03c2\u13df\ua4da\u1d04\u2ca4\u2ca5",
  d: "\u0501\u0500\u13a0\ua4d3\u1d05\u0111\u0110",
  e: "\u0435\u0415\u0395\u03b5\u212e\u13ac\ua4f0\u1d07\u04bd",
  f: "\u03dc\ua4dd\ua730",
  g: "\u0261\u0581\u050c\u050d\u13c0\ua4d6\u0262",
  h: "\u041d\u043d\u0397\u04bb\u04ba\u0570\u13bb\ua4e7\u029c\u0127\u0126",
  i: "\u0456\u0406\u03b9\u0399\u0131\u0269\u026a\u2373\ua4f2",
  j: "\u0458\u0408\u03f3\u037f\u0575\u13ab\ua4d9\u1d0a",
  k: "\u041a\u043a\u039a\u03ba\u13e6\ua4d7\u1d0b",
  l: "\u04cf\u04c0\u01c0\u05c0\u2223\u053c\u13de\ua4e1\u029f\u0142\u0141",
  m: "\u041c\u043c\u039c\u13b7\ua4df\u1d0d",
  n: "\u039d\u03b7\u0578\u057c\u043f\ua4e0\u0274",
  o: "\u043e\u041e\u03bf\u039f\u03c3\u0585\u0555\u0ae6\u0966\u09e6\u0b20\u0be6\u0c66\u0ce6\u0d66\u101d\u1040\ua4f3\u1d0f\u00f8\u00d8",
  p: "\u0440\u0420\u03c1\u03a1\u2374\u13e2\ua4d1\u1d18",
  q: "\u051b\u051a\u0566\u0563",
  r: "\u0433\u1d26\u13a1\ua4e3\u0280",
  s: "\u0455\u0405\u054f\u13da\ua4e2\ua731",
  t: "\u0422\u0442\u03a4\u03c4\u13a2\ua4d4\u1d1b",
  u: "\u03c5\u057d\u054d\ua4f4\u1d1c",
  v: "\u0475\u0474\u03bd\u05d8\u13d9\ua4e6\u1d20",
  w: "\u051d\u051c\u0461\u03c9\u0561\u13b3\ua4ea\u1d21",
  x: "\u0445\u0425\u03c7\u03a7\u166e\ua4eb",
  y: "\u0443\u0423\u04af\u04ae\u03a5\u03b3\ua4ec\u028f",
  z: "\u0396\u13c3\ua4dc\u1d22",
};

/** Transliteration of words in one other alphabet; in a word mixed with Latin letters the look counts instead. */
const SPELT =
  "\u0430a \u0431b \u0432v \u0433g \u0434d \u0435e \u0436zh \u0437z \u0438i \u043ak \u043bl \u043cm \u043dn \u043eo \u043fp " +
  "\u0440r \u0441s \u0442t \u0443u \u0444f \u0445kh \u0446ts \u0447ch \u0448sh \u0449shch \u044a \u044by \u044c \u044de " +
  "\u044eyu \u044fya \u0456i \u0454ye \u0491g \u03b1a \u03b2v \u03b3g \u03b4d \u03b5e \u03b6z \u03b7i \u03b8th \u03b9i \u03bak " +
  "\u03bbl \u03bcm \u03bdn \u03bex \u03bfo \u03c0p \u03c1r \u03c2s \u03c3s \u03c4t \u03c5y \u03c6f \u03c7ch \u03c8ps \u03c9o";

const ALWAYS_SPELT: ReadonlyMap<string, string> = new Map([
  ["\u00df", "ss"],
  ["\u00e6", "ae"],
  ["\u0153", "oe"],
  ["\u00fe", "th"],
  ["\u00f0", "d"],
]);

const LOOKS: ReadonlyMap<string, string> = new Map(
  Object.entries(ALIKE).flatMap(([letter, others]) =>
    [...others].map((other): [string, string] => [other, letter]),
  ),
);
const SOUNDS: ReadonlyMap<string, string> = new Map(
  SPELT.split(" ").map((pair): [string, string] => [pair.slice(0, 1), pair.slice(1)]),
);

/** Dashes, dots and lines between words. */
const BETWEEN = /[\s._\u00b7\u2010-\u2015\u2027\u203f\u2040\u2043\u2212-]/gu;
const ASCII = /^[\x20-\x7e]*$/;
/** Combining marks and invisible characters. */
const UNSEEN = /[\p{M}\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]+/gu;

/** The ASCII part of {@link BETWEEN} without `_`: most names only have `_`, and need no copy. */
const BETWEEN_ASCII = /[\s.-]/;
const FOLDED = /[A-Z01\s.-]/;

/** {@link lookOf} for ASCII. Called for every tool, so a text without changes is returned as it is: the first `tools()` of `npm run bench:growth`. */
export function lookOfAscii(text: string): string {
  if (!FOLDED.test(text)) return text;
  let folded = text.toLowerCase();
  if (BETWEEN_ASCII.test(folded)) folded = folded.replace(BETWEEN, "_");
  if (folded.includes("0")) folded = folded.replaceAll("0", "o");
  return folded.includes("1") ? folded.replaceAll("1", "l") : folded;
}

/**
 * A key that is equal for names that look alike: case, accents, look-alike letters, invisible characters, the digits
 * 0 and 1, and the difference between `_`, `-`, `.` and spaces are ignored.
 */
export function lookOf(name: string): string {
  if (ASCII.test(name)) return lookOfAscii(name);
  let look = "";
  for (const character of name.normalize("NFKD").replace(UNSEEN, ""))
    look += LOOKS.get(character) ?? character;
  return lookOfAscii(look.normalize("NFKC").replace(BETWEEN, "_"));
}

/** True if a name mixes ASCII letters with letters that only look like them. */
export function mixesLookAlikes(name: string): boolean {
  if (ASCII.test(name) || !/[a-zA-Z]/.test(name)) return false;
  // Accents and ligatures are legitimate; full-width and mathematical letters inside a word are not.
  return [...name.normalize("NFC")].some(
    (character) => LOOKS.has(character) || /^[\uff21-\uff5a\u{1d400}-\u{1d6a5}]$/u.test(character),
  );
}

/**
 * Transliterates a name to characters that every provider accepts. Runs of characters without a spelling become one `_`.
 * Empty if nothing is left.
 */
export function toAsciiName(name: string): string {
  const plain = name.normalize("NFKD").replace(UNSEEN, "");
  const mixed = /[a-zA-Z]/.test(plain);
  let ascii = "";
  for (const character of plain)
    ascii += /[a-zA-Z0-9_-]/.test(character) ? character : spell(character, mixed);
  return ascii.replace(/\0+$|^\0+/g, "").replace(/\0+/g, "_");
}

/** NUL marks characters without a spelling. */
function spell(character: string, mixed: boolean): string {
  const lower = character.toLowerCase();
  const sound = ALWAYS_SPELT.get(lower) ?? (mixed ? undefined : SOUNDS.get(lower));
  const spelling = sound ?? LOOKS.get(character) ?? LOOKS.get(lower) ?? "\0";
  return character === lower ? spelling : spelling.toUpperCase();
}
