/** Parses the program of a model as the body of an async function, without running it, and finds positions in it. */
import { EvalFlags, JSException, type QuickJS } from "quickjs-wasi";

/** The name of the program in stack traces of the VM. */
const FILE = "program";

export interface Position {
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

export interface ProgramSyntaxError extends Position {
  readonly message: string;
}

/** A program that is ready to run. */
export interface ParsedProgram {
  /** An expression whose value is the function. */
  readonly code: string;
  readonly file: string;
  readonly isTypeScript: boolean;
}

/** The first position inside the program that a stack trace of the VM names. The wrapper has one line before the program. */
export function positionIn(stack: string): Position {
  const [, line, column] = /\bprogram:(\d+):(\d+)/.exec(stack) ?? [];
  if (line === undefined) return {};
  return { line: Math.max(1, Number(line) - 1), column: Number(column) };
}

/**
 * A text that ends the function early must not parse. After a method, only `,` or `}` can follow; after a declaration,
 * neither of them can. So no text passes both.
 */
const WRAPPERS = [
  (source: string) => `async function _() {\n${source}\n}`,
  (source: string) => `({ async _() {\n${source}\n} })`,
];

function syntaxErrorOf(vm: QuickJS, source: string): ProgramSyntaxError | undefined {
  for (const wrap of WRAPPERS) {
    try {
      vm.evalCode(wrap(source), FILE, EvalFlags.COMPILE_ONLY).dispose();
    } catch (error) {
      if (!(error instanceof JSException)) throw error;
      const { message, stack = "" } = error;
      error.dispose();
      return { message, ...insideOf(source, positionIn(stack)) };
    }
  }
  return undefined;
}

/** An error at the end is reported after the last line, which is a line of the wrapper. */
function insideOf(source: string, { line, column }: Position): Position {
  const lines = source.split(/\r\n|[\n\r\u2028\u2029]/);
  if (line === undefined || line <= lines.length) return { line, column };
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}

/** Parses JavaScript, or TypeScript if that fails. `sucrase` is loaded only then. */
export async function parseProgram(vm: QuickJS, source: string): Promise<ParsedProgram | ProgramSyntaxError> {
  const plain = syntaxErrorOf(vm, source);
  if (plain === undefined) return runnable(source, false);
  const converted = await toJavaScript(source);
  if (converted === undefined) return plain;
  if ("message" in converted) return converted;
  const error = syntaxErrorOf(vm, converted.code);
  if (error === undefined) return runnable(converted.code, true);
  return { message: error.message, ...originalPosition(converted.mappings, error) };
}

const runnable = (code: string, isTypeScript: boolean): ParsedProgram => ({
  code: `(async function () {\n${code}\n})`,
  file: FILE,
  isTypeScript,
});

interface Converted {
  readonly code: string;
  readonly mappings: string;
}

/** Removes types; lines stay where they are. Undefined if the package is missing. */
async function toJavaScript(source: string): Promise<Converted | ProgramSyntaxError | undefined> {
  let sucrase: typeof import("sucrase");
  try {
    sucrase = await import("sucrase");
  } catch {
    return undefined;
  }
  try {
    const { code, sourceMap } = sucrase.transform(source, {
      transforms: ["typescript"],
      disableESTransforms: true,
      // Not removed silently: there are no modules.
      keepUnusedImports: true,
      filePath: FILE,
      sourceMapOptions: { compiledFilename: FILE },
    });
    return { code, mappings: sourceMap?.mappings ?? "" };
  } catch (error) {
    const { message, loc } = error as Error & { loc?: { line: number; column: number } };
    const what = message.replace(/^Error transforming program: /, "").replace(/ \(\d+:\d+\)$/, "");
    return { message: what, ...(loc && insideOf(source, loc)) };
  }
}

/** The position in the program as it was written, for a program that was converted. */
export async function positionInSource(source: string, position: Position): Promise<Position> {
  const converted = await toJavaScript(source);
  return converted === undefined || "message" in converted
    ? position
    : originalPosition(converted.mappings, position);
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The numbers of one segment of a source map. */
function numbersOf(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** Lines are the same before and after the conversion, so only the column is looked up. */
function originalPosition(mappings: string, { line, column }: Position): Position {
  if (line === undefined || column === undefined) return { line, column };
  // The columns of the source continue from line to line in a source map.
  let source = 0;
  let found = column;
  for (const [index, segments] of mappings.split(";").slice(0, line).entries()) {
    let made = 0;
    for (const segment of segments.split(",")) {
      const [step = 0, , , sourceStep] = numbersOf(segment);
      made += step;
      if (sourceStep === undefined) continue;
      source += sourceStep;
      if (index === line - 1 && made < column) found = source + (column - made);
    }
  }
  return { line, column: found };
}
