/** Reads a JSON file as people write it (comments, trailing commas, byte order mark) and remembers its lines. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { ConfigError } from "../errors/config-error.js";

/** No list of servers is as long as this. */
const MAX_BYTES = 1024 * 1024;

/** Deeper nesting is no configuration; what walks the tree later may count on it. */
const MAX_DEPTH = 64;

/** A file as a tree whose nodes know where they stand. */
export interface JsonConfig {
  readonly file: string;
  readonly root: Node;
  /** 1-based line of an offset. */
  lineAt(offset: number): number;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  PropertyNameExpected: "a property name in double quotes is expected",
  ValueExpected: "a value is expected",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  CloseBraceExpected: "a closing brace is missing",
  CloseBracketExpected: "a closing bracket is missing",
  EndOfFileExpected: "there is something after the end",
  UnexpectedEndOfComment: "a comment is not closed",
  UnexpectedEndOfString: "a string is not closed",
  InvalidCharacter: "a character is not allowed in a string; write it as \\uXXXX",
  InvalidEscapeCharacter: "an escape sequence is not valid",
};

function unreadable(
  file: string,
  message: string,
  details: { line?: number; cause?: unknown } = {},
): ConfigError {
  return new ConfigError({
    code: "UNREADABLE_CONFIG",
    what: "The configuration file cannot be read",
    issues: [{ file, line: details.line, path: "", message }],
    cause: details.cause,
  });
}

async function readCapped(handle: FileHandle, file: string): Promise<Buffer> {
  const buffer = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > MAX_BYTES) throw unreadable(file, `it is larger than ${MAX_BYTES} bytes`);
  }
}

async function readText(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    // Looked at before it is opened: opening a named pipe waits for somebody to write to it.
    if (!(await stat(file)).isFile()) throw unreadable(file, "it is not a file");
    handle = await open(file, "r");
    // Takes the byte order mark away, and does not guess at what is not UTF-8.
    return new TextDecoder("utf-8", { fatal: true }).decode(await readCapped(handle, file));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw unreadable(file, "there is no such file", { cause: error });
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") throw unreadable(file, "it is not UTF-8 text");
    throw unreadable(file, `it could not be opened (${code ?? "unknown reason"})`, { cause: error });
  } finally {
    await handle?.close();
  }
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/** The first node that is nested too deeply. A list instead of recursion: the stack is what has to be saved. */
function findTooDeep(root: Node): Node | undefined {
  let level = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return level[0];
    // A property is a node of its own between an object and its value.
    level = level.flatMap((node) =>
      (node.children ?? []).flatMap((child) =>
        child.type === "property" ? (child.children ?? []) : [child],
      ),
    );
  }
  return undefined;
}

/** @throws ConfigError with code `UNREADABLE_CONFIG`, the file and, where there is one, the line. */
export async function readJsonConfig(file: string): Promise<JsonConfig> {
  const text = await readText(file);
  const lineAt = lineCounter(text);
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    throw unreadable(file, "it is nested too deeply", { cause: error });
  }
  const [first] = errors;
  if (first !== undefined || root === undefined) {
    const offset = first?.offset ?? 0;
    const column = offset - text.lastIndexOf("\n", offset - 1);
    const problem =
      (first && PROBLEMS[printParseErrorCode(first.error)]) ?? "something that is not JSON stands here";
    throw unreadable(file, `column ${column}: ${problem}`, { line: lineAt(offset) });
  }
  const tooDeep = findTooDeep(root);
  if (tooDeep !== undefined)
    throw unreadable(file, "it is nested too deeply", { line: lineAt(tooDeep.offset) });
  return { file, root, lineAt };
}
