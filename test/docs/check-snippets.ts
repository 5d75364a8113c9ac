/** Type-checks code blocks against the sources, each as a separate file in this repository. */
import { join } from "node:path";
import ts from "typescript";
import { root } from "./markdown.js";

export interface Snippet {
  /** Its file, for example `docs/testing.md`. */
  readonly path: string;
  /** 1-based line of its first line. */
  readonly line: number;
  readonly text: string;
}

/** Names that a short snippet may use without declaring them, because the text around it introduces them. */
const AMBIENT = `import type { Toolport } from "toolport";
declare global {
  const toolport: Toolport;
  const error: unknown;
}
`;

const FOLDER = join(root, "test/docs/snippets-of-the-documentation");
const AMBIENT_FILE = join(FOLDER, "ambient.ts");

/** Differences from our own documentation. */
export interface SnippetOptions {
  /** Names that the snippets use without declaring them. @default those of our documentation */
  readonly ambient?: string;
  readonly compilerOptions?: ts.CompilerOptions;
}

/** Whether a snippet uses the types of Cloudflare's runtime. */
export const isForWorkers = (text: string): boolean => /DurableObjectNamespace|cloudflare:workers/.test(text);

/** Every problem, one line each: `docs/testing.md:12 …`. One program for all, so that the sources are read once. */
export function checkSnippets(
  snippets: readonly Snippet[],
  { ambient: names = AMBIENT, compilerOptions = {} }: SnippetOptions = {},
): string[] {
  const options = { ...readOptions(), ...compilerOptions };
  const files = new Map<string, Snippet>();
  for (const [index, snippet] of snippets.entries()) files.set(join(FOLDER, `snippet-${index}.ts`), snippet);
  // A file without an import or export would be a script, where a top-level await is not allowed.
  const texts = new Map([...files].map(([file, { text }]) => [file, `${text}\nexport {};\n`]));
  texts.set(AMBIENT_FILE, names);

  const program = ts.createProgram([...texts.keys()], options, createHost(options, texts, compilerOptions));
  const ambient = problemsIn(program, AMBIENT_FILE).map(({ message }) => `ambient names: ${message}`);
  const found = [...files].flatMap(([file, { path, line }]) =>
    problemsIn(program, file).map((problem) => `${path}:${line + problem.line} ${problem.message}`),
  );
  return [...ambient, ...found];
}

function readOptions(): ts.CompilerOptions {
  const file = join(root, "tsconfig.json");
  const { config, error } = ts.readConfigFile(file, ts.sys.readFile);
  if (error !== undefined) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, "\n"));
  return { ...ts.parseJsonConfigFileContent(config, ts.sys, root).options, noEmit: true };
}

/** Sources and libraries, parsed once for all calls in a row with the same options: most of the time goes into them. */
let parsed = { options: "", files: new Map<string, ts.SourceFile | undefined>() };

/** The real file system, plus files that exist only here. */
function createHost(
  options: ts.CompilerOptions,
  texts: ReadonlyMap<string, string>,
  differences: ts.CompilerOptions,
): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const key = JSON.stringify(differences);
  if (parsed.options !== key) parsed = { options: key, files: new Map() };
  const { files } = parsed;
  const { fileExists, readFile, directoryExists } = host;
  return {
    ...host,
    fileExists: (file) => texts.has(file) || fileExists(file),
    readFile: (file) => texts.get(file) ?? readFile(file),
    directoryExists: (folder) => folder === FOLDER || (directoryExists?.(folder) ?? true),
    getSourceFile: (file, language, ...rest) => {
      const text = texts.get(file);
      if (text !== undefined) return ts.createSourceFile(file, text, language);
      if (!files.has(file)) files.set(file, host.getSourceFile(file, language, ...rest));
      return files.get(file);
    },
  };
}

/** Lines are 0-based. */
function problemsIn(program: ts.Program, file: string): { line: number; message: string }[] {
  const source = program.getSourceFile(file);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
    ({ start, messageText, code }) => ({
      line: source?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0,
      message: `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, "\n  ")}`,
    }),
  );
}
