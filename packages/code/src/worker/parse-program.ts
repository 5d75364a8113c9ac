/** Parses the program of a model as the body of an async function, without running it, and finds positions in it. */
import { createContext, Script } from "node:vm";
import { JSException } from "quickjs-wasi";

/** The name of the program in stack traces of the VM. */
export const FILE = "program";
/** Far more than models write. Parsers need many times the memory of the text. */
const MAX_CHARACTERS = 256 * 1024;

export interface Position {
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

export interface ProgramSyntaxError extends Position {
  readonly message: string;
  /** The text is too large for a parser, so it is not read as TypeScript either. */
  readonly isFinal?: boolean;
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

const NESTED: ProgramSyntaxError = { message: "The program is nested too deeply", isFinal: true };

/** Compiles code in the VM, without running it. */
type Compile = (code: string) => void;

function syntaxErrorOf(source: string, compile: Compile): ProgramSyntaxError | undefined {
  for (const wrap of WRAPPERS) {
    try {
      compile(wrap(source));
    } catch (error) {
      // The stack of the thread was not enough for the parser.
      if (error instanceof RangeError) return NESTED;
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

export function parseJavaScript(source: string, compile: Compile): ParsedProgram | ProgramSyntaxError {
  if (source.length > MAX_CHARACTERS)
    return {
      message: `The program has ${source.length} characters; the limit is ${MAX_CHARACTERS}`,
      isFinal: true,
    };
  return syntaxErrorOf(source, compile) ?? runnable(source, false);
}

const runnable = (code: string, isTypeScript: boolean): ParsedProgram => ({
  code: `(async function () {\n${code}\n})`,
  file: FILE,
  isTypeScript,
});

/** Converts TypeScript. It is stopped after this time: some short texts keep the parser busy for hours. */
interface Converter {
  readonly transform: typeof import("sucrase").transform;
  readonly limitMs: number;
}

/** Undefined if the package is missing. */
export async function loadSucrase(): Promise<Converter["transform"] | undefined> {
  try {
    return (await import("sucrase")).transform;
  } catch {
    return undefined;
  }
}

/** Parses a text that is not JavaScript. Throws if the time is over: see `isTimeout`. */
export function parseTypeScript(
  source: string,
  compile: Compile,
  converter: Converter,
): ParsedProgram | ProgramSyntaxError {
  const converted = toJavaScript(source, converter);
  if ("message" in converted) return converted;
  const error = syntaxErrorOf(converted.code, compile);
  if (error === undefined) return runnable(converted.code, true);
  return { message: error.message, ...originalPosition(converted.mappings, error) };
}

interface Converted {
  readonly code: string;
  readonly mappings: string;
}

/** Removes types; lines stay where they are. */
function toJavaScript(source: string, { transform, limitMs }: Converter): Converted | ProgramSyntaxError {
  const convert = () =>
    transform(source, {
      transforms: ["typescript"],
      disableESTransforms: true,
      // Not removed silently: there are no modules.
      keepUnusedImports: true,
      filePath: FILE,
      sourceMapOptions: { compiledFilename: FILE },
    });
  try {
    const { code, sourceMap } = withTimeLimit(convert, limitMs);
    return { code, mappings: sourceMap?.mappings ?? "" };
  } catch (error) {
    if (isTimeout(error)) throw error;
    if (error instanceof RangeError) return NESTED;
    const { message, loc } = error as Error & { loc?: { line: number; column: number } };
    const what = message.replace(/^Error transforming program: /, "").replace(/ \(\d+:\d+\)$/, "");
    return { message: what, ...(loc && insideOf(source, loc)) };
  }
}

const caller = new Script("run()");

/** V8 stops everything that a script of `node:vm` calls, in any context. */
function withTimeLimit<Result>(run: () => Result, limitMs: number): Result {
  return caller.runInContext(createContext({ run }), { timeout: Math.max(1, Math.ceil(limitMs)) }) as Result;
}

export const isTimeout = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** The position in the program as it was written, for a program that was converted. */
export function positionInSource(source: string, position: Position, converter: Converter): Position {
  let converted: Converted | ProgramSyntaxError;
  try {
    converted = toJavaScript(source, converter);
  } catch {
    return position;
  }
  return "message" in converted ? position : originalPosition(converted.mappings, position);
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
  let original = column;
  for (const [index, segments] of mappings.split(";").slice(0, line).entries()) {
    let made = 0;
    for (const segment of segments.split(",")) {
      const [step = 0, , , sourceStep] = numbersOf(segment);
      made += step;
      if (sourceStep === undefined) continue;
      source += sourceStep;
      if (index === line - 1 && made < column) original = source + (column - made);
    }
  }
  return { line, column: original };
}
