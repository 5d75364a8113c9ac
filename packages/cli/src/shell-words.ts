/** Words of a shell: a line split into words, and a word quoted. */
import { replaceHidden, visibleLine } from "@toolport/base";

/**
 * Quotes a word for a shell, so that users can copy the line. Invisible characters and line breaks become escapes in
 * `$'…'`, which bash, zsh and ksh support.
 */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (visibleLine(word) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = replaceHidden(word.replace(/[\\']/g, "\\$&"), escapeForShell);
  return `$'${escaped.replace(/[\n\t\u2028\u2029]/g, escapeForShell)}'`;
}

const escapeForShell = (character: string): string =>
  `\\U${character.codePointAt(0)!.toString(16).padStart(8, "0")}`;

interface SplitOptions {
  /** Text in parentheses is part of the word before it, unchanged: `files.read(path: "a b")`. @default false */
  readonly keepsParentheses?: boolean;
  /** A backslash is a separator of paths, not an escape. @default on Windows */
  readonly hasPlainBackslash?: boolean;
}

/**
 * Splits a line as a shell does.
 *
 * @throws SyntaxError if a quote or a parenthesis is not closed
 * @example
 * ```ts
 * splitWords(`npx -y 'my server'`); // ["npx", "-y", "my server"]
 * ```
 */
export function splitWords(
  line: string,
  { keepsParentheses = false, hasPlainBackslash = process.platform === "win32" }: SplitOptions = {},
): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let index = 0;
  const add = (text: string) => {
    word = (word ?? "") + text;
  };
  while (index < line.length) {
    const character = line[index]!;
    if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === "\\" && !hasPlainBackslash) add(line[++index] ?? "");
    else if (character === "(" && keepsParentheses && word !== undefined) {
      const end = endOfGroup(line, index);
      add(line.slice(index, end + 1));
      index = end;
    } else if (character === "'" || character === '"') {
      const quoted = readQuoted(line, index, hasPlainBackslash);
      add(quoted.text);
      index = quoted.end;
    } else add(character);
    index += 1;
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** In double quotes, a backslash protects only `"`, `\`, `$` and a backtick. */
function readQuoted(line: string, start: number, hasPlainBackslash: boolean): { text: string; end: number } {
  const quote = line[start]!;
  let text = "";
  for (let index = start + 1; index < line.length; index += 1) {
    const character = line[index]!;
    if (character === quote) return { text, end: index };
    const next = line[index + 1];
    const isEscape = character === "\\" && quote === '"' && !hasPlainBackslash;
    if (isEscape && next !== undefined && '"\\$`'.includes(next)) {
      text += next;
      index += 1;
    } else text += character;
  }
  throw unclosed(quote);
}

/** The index of the parenthesis that closes a group. Parentheses in quotes do not count. */
function endOfGroup(line: string, start: number): number {
  let depth = 0;
  let quote = "";
  for (let index = start; index < line.length; index += 1) {
    const character = line[index]!;
    if (quote !== "") {
      if (character === "\\") index += 1;
      else if (character === quote) quote = "";
    } else if (`"'\``.includes(character)) quote = character;
    else if (character === "(") depth += 1;
    else if (character === ")") {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  throw unclosed("(");
}

const unclosed = (mark: string): SyntaxError => new SyntaxError(`${mark} is not closed`);
