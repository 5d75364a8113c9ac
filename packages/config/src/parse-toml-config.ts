/** Parses TOML and finds the lines of tables and keys, which the parser does not report. */

import { type ConfigPath, isRecord } from "@toolport/base";
import { type ConfigDocument, unreadable } from "@toolport/base/json-config";
import { parse, TomlError } from "smol-toml";

const MAX_DEPTH = 64;

/** @throws ConfigError with code `UNREADABLE_CONFIG`, the file and the line */
export function parseTomlConfig(file: string, text: string): ConfigDocument {
  let root: unknown;
  try {
    root = parse(text, { maxDepth: MAX_DEPTH });
  } catch (error) {
    if (!(error instanceof TomlError)) throw unreadable(file, "it is not TOML", { cause: error });
    // Use only the first line of the message: the others quote the file, which may contain secrets.
    const problem = error.message.split("\n", 1)[0]!.replace(/^Invalid TOML document: /, "");
    throw unreadable(file, `column ${error.column}: ${problem}`, { line: error.line });
  }
  const lines = findLines(text);
  return {
    file,
    root,
    duplicates: [], // TOML rejects duplicate names.
    lineOf: (path) => {
      for (let length = path.length; length > 0; length--) {
        const line = lines.get(JSON.stringify(path.slice(0, length).map(String)));
        if (line !== undefined) return line;
      }
      return 1;
    },
  };
}

/** Approximate lines of tables and keys, for messages. */
function findLines(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  const note = (path: readonly string[], line: number) => {
    // A table starts at the line of its first key.
    for (let length = 1; length <= path.length; length++) {
      const key = JSON.stringify(path.slice(0, length));
      if (!lines.has(key)) lines.set(key, line);
    }
  };
  let table: readonly string[] = [];
  let quote: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const opened = quote;
    quote = quoteAfter(line, quote);
    if (opened !== undefined) continue;
    const header = /^\s*\[\[?(.+?)\]\]?\s*(?:#.*)?$/.exec(line)?.[1];
    if (header !== undefined) {
      table = parseKey(header) ?? table;
      lines.set(JSON.stringify(table), index + 1);
      note(table, index + 1);
      continue;
    }
    const key = /^\s*((?:[\w.\s-]|"[^"]*"|'[^']*')+?)\s*=/.exec(line)?.[1];
    const path = key === undefined ? undefined : parseKey(key);
    if (path !== undefined) note([...table, ...path], index + 1);
  }
  return lines;
}

/** The delimiter of a multi-line string that is still open at the end of a line. */
function quoteAfter(line: string, open: string | undefined): string | undefined {
  let quote = open;
  for (const [found] of line.matchAll(/"""|'''/g)) {
    if (quote === undefined) quote = found;
    else if (quote === found) quote = undefined;
  }
  return quote;
}

/** Splits a dotted key by parsing a minimal document that contains it. */
function parseKey(key: string): (ConfigPath & string[]) | undefined {
  try {
    const steps: string[] = [];
    for (let value: unknown = parse(`${key} = 0`); isRecord(value); value = value[steps.at(-1)!]) {
      steps.push(...Object.keys(value).slice(0, 1));
    }
    return steps;
  } catch {
    return undefined;
  }
}
