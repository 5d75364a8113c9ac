/** Reads configuration files: JSON with comments, and where the servers are in it. */

import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { ConfigError } from "../errors/toolport-error.js";
import type { ConfigPath } from "./option-table.js";

export interface ConfigDocument {
  readonly file: string;
  /** The content as plain values. */
  readonly root: unknown;
  /** Keys that occur twice in their object. */
  readonly duplicates: readonly { path: ConfigPath; line: number; firstLine: number }[];
  /** 1-based line of the value at a path, or of its nearest existing parent. */
  lineOf(path: ConfigPath): number;
}

/** The value at a path; own properties only. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** The error for a file that cannot be read. */
export function unreadable(
  file: string,
  message: string,
  details: { line?: number | undefined; cause?: unknown } = {},
): ConfigError {
  return new ConfigError({
    code: "UNREADABLE_CONFIG",
    what: "The configuration file cannot be read",
    issues: [{ file, line: details.line, path: "", message }],
    cause: details.cause,
  });
}

/** Maximum nesting depth. Recursive functions on the parsed values rely on it. */
const MAX_DEPTH = 64;

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

/** The 1-based line of an offset. */
const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;

/** Finds a node that is nested too deeply. Iterative, to avoid a stack overflow. */
function findTooDeep(root: Node): Node | undefined {
  let level = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return level[0];
    // Skip the property nodes between an object and its values.
    level = level.flatMap((node) =>
      (node.children ?? []).flatMap((child) =>
        child.type === "property" ? (child.children ?? []) : [child],
      ),
    );
  }
  return undefined;
}

/** @throws ConfigError with code `UNREADABLE_CONFIG`, the file and the line */
export function parseJsonConfig(file: string, text: string): ConfigDocument {
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
      (first && PROBLEMS[printParseErrorCode(first.error)]) ?? "unexpected text that is not JSON";
    throw unreadable(file, `column ${column}: ${problem}`, { line: lineAt(text, offset) });
  }
  const tooDeep = findTooDeep(root);
  if (tooDeep !== undefined) {
    throw unreadable(file, "it is nested too deeply", { line: lineAt(text, tooDeep.offset) });
  }
  const tree = root;
  return {
    file,
    root: toValue(tree),
    duplicates: duplicatesIn(tree).map(({ path, first, again }) => ({
      path,
      firstLine: lineAt(text, first.offset),
      line: lineAt(text, again.offset),
    })),
    lineOf: (path) => lineAt(text, nearestNode(tree, path).offset),
  };
}

/** Name and value of each property of an object, in the order of the file. */
function propertiesOf(node: Node): { name: string; property: Node; value: Node | undefined }[] {
  if (node.type !== "object") return [];
  return (node.children ?? []).map((property) => {
    const [key, value] = property.children ?? [];
    return { name: String(key?.value ?? ""), property, value };
  });
}

/** The value of a node. The last of duplicate properties counts. `__proto__` is an ordinary field. */
function toValue(node: Node | undefined): unknown {
  if (node?.type === "object") {
    return Object.fromEntries(propertiesOf(node).map(({ name, value }) => [name, toValue(value)]));
  }
  if (node?.type === "array") return (node.children ?? []).map((item) => toValue(item));
  return node?.value;
}

/** The node at a path, or its nearest existing parent. For a property, the node includes the name. */
function nearestNode(node: Node, path: ConfigPath): Node {
  const [step, ...rest] = path;
  if (typeof step === "number") {
    const item = node.type === "array" ? node.children?.[step] : undefined;
    return item === undefined ? node : nearestNode(item, rest);
  }
  const found = propertiesOf(node).findLast(({ name }) => name === step);
  if (found === undefined) return node.parent?.type === "property" ? node.parent : node;
  return found.value === undefined || rest.length === 0 ? found.property : nearestNode(found.value, rest);
}

/** Every duplicate property, with the first one of that name. */
function duplicatesIn(node: Node, path: ConfigPath = []): { path: ConfigPath; first: Node; again: Node }[] {
  const found: { path: ConfigPath; first: Node; again: Node }[] = [];
  const seen = new Map<string, Node>();
  for (const { name, property, value } of propertiesOf(node)) {
    const first = seen.get(name);
    if (first === undefined) seen.set(name, property);
    else found.push({ path: [...path, name], first, again: property });
    if (value !== undefined) found.push(...duplicatesIn(value, [...path, name]));
  }
  if (node.type === "array") {
    for (const [index, item] of (node.children ?? []).entries())
      found.push(...duplicatesIn(item, [...path, index]));
  }
  return found;
}
