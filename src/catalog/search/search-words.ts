/** Splits text into stemmed words for search: `getHTTPIssues` → get, http, issu. */

const MAX_WORD = 64;
/** Maximum size of the cache. */
const MAX_KNOWN = 50_000;
/** Scripts without spaces: every character is a word, and so is every pair. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const ASCII = /^[\0-\x7f]*$/;

/**
 * A light stemmer: maps singular and plural, create, created and creating to the same text, which need not be a word.
 */
export function stem(word: string): string {
  let root = word;
  if (root.length > 4 && root.endsWith("ies")) root = `${root.slice(0, -3)}y`;
  else if (root.length > 3 && root.endsWith("s") && !/(?:ss|us|is)$/.test(root)) root = root.slice(0, -1);
  if (root.length > 5 && root.endsWith("ing")) root = undouble(root.slice(0, -3));
  else if (root.length > 4 && root.endsWith("ed")) root = undouble(root.slice(0, -2));
  return root.length > 3 && root.endsWith("e") ? root.slice(0, -1) : root;
}

const undouble = (root: string): string => (/([bdgmnprt])\1$/.test(root) ? root.slice(0, -1) : root);

/** The words of a text, stemmed, in order, with repetitions. A joined word gives its parts and itself. */
export function searchWords(text: string): string[] {
  return createWordCutter()(text);
}

/** {@link searchWords} for many texts, with a cache of words. */
export function createWordCutter(): (text: string) => string[] {
  const known = new Map<string, readonly string[]>();
  return (text) => {
    const isAscii = ASCII.test(text);
    const runs = isAscii ? text.match(/[a-zA-Z0-9]+/g) : text.normalize("NFKC").match(/[\p{L}\p{M}\p{N}]+/gu);
    const words: string[] = [];
    for (const run of runs ?? []) {
      let cut = known.get(run);
      if (cut === undefined) {
        cut = UNSPACED.test(run) ? cutUnspaced(run) : cutSpaced(run);
        if (known.size < MAX_KNOWN) known.set(run, cut);
      }
      for (const word of cut) words.push(word);
    }
    return words;
  };
}

function cutSpaced(run: string): string[] {
  const parts = run.match(/\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+|\p{N}+/gu) ?? [run];
  return (parts.length > 1 ? [run, ...parts] : [run]).map(toWord);
}

function cutUnspaced(run: string): string[] {
  const words: string[] = [];
  const characters = [...run.toLowerCase()];
  for (const [index, character] of characters.entries()) {
    words.push(character);
    const next = characters[index + 1];
    if (next !== undefined) words.push(character + next);
  }
  return words;
}

const toWord = (run: string): string => stem(run.slice(0, MAX_WORD).toLowerCase());
